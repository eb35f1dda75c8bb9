"""One script per kind of run: `export_run` copies it beside the run's inputs as `reproduce.py`."""
