"""For gunicorn and its kind. Refuses to start where `manage.py` would refuse too."""

import os
import sys

from django.core.checks import run_checks
from django.core.wsgi import get_wsgi_application
from django.db import DatabaseError, connection

# gunicorn stops at this code; at any other it would start the worker again, for ever.
DOES_NOT_LOAD = 4

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dialfork_site.settings")
try:
    application = get_wsgi_application()
    if _refusals := [message for message in run_checks() if message.is_serious()]:
        sys.exit("\n".join(str(message) for message in _refusals))
    from dialfork_site import schema  # needs the settings

    try:
        if _too_new := schema.too_new():
            sys.exit(_too_new)
    except DatabaseError as _away:
        # A database that is away may come back: pages say so until then.
        print(f"The database does not answer yet: {_away}".strip(), file=sys.stderr)
    finally:
        connection.close()
except SystemExit as refusal:
    print(refusal.code, file=sys.stderr)
    sys.exit(DOES_NOT_LOAD)
