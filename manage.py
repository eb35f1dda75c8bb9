#!/usr/bin/env python
import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dialfork_site.settings")
    from django.core.management import execute_from_command_line
    from django.db import OperationalError, ProgrammingError

    try:
        execute_from_command_line(sys.argv)
    except (OperationalError, ProgrammingError) as error:
        # No server, no tables, no right to write: nothing that a list of calls would explain.
        if "--traceback" in sys.argv:
            raise
        said = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        sys.exit(
            f"The database does not do what is asked: {said}. Is it there, and did 'manage.py "
            "migrate' run? 'manage.py doctor' looks; --traceback shows where it happened."
        )


if __name__ == "__main__":
    main()
