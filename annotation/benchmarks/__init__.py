"""Speed of the agreement statistics beside plain forms; see `manage.py benchmarks annotation`."""
