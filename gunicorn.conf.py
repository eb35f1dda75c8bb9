"""gunicorn reads this file by itself when it is started beside it."""

logger_class = "dialfork_site.access_log.AccessLog"
