"""For gunicorn and its kind. Refuses to start where `manage.py` would refuse too."""

import os
import sys

from django.core.checks import run_checks
from django.core.wsgi import get_wsgi_application

# gunicorn stops at this code; at any other it would start the worker again, for ever.
DOES_NOT_LOAD = 4

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dialfork_site.settings")
try:
    application = get_wsgi_application()
    if _refusals := [message for message in run_checks() if message.is_serious()]:
        sys.exit("\n".join(str(message) for message in _refusals))
except SystemExit as refusal:
    print(refusal.code, file=sys.stderr)
    sys.exit(DOES_NOT_LOAD)
