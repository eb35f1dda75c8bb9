"""For gunicorn: start it with `--config deploy/gunicorn.conf.py`."""

logger_class = "dialfork_site.access_log.AccessLog"
