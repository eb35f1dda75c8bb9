"""For gunicorn and its kind. Refuses to start where `manage.py` would refuse too."""

import os
import sys

from django.core.checks import run_checks
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dialfork_site.settings")
application = get_wsgi_application()

_refusals = [message for message in run_checks() if message.is_serious()]
if _refusals:
    sys.exit("\n".join(str(message) for message in _refusals))
