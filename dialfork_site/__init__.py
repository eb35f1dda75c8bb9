__version__ = "0.1.0"

from dialfork_site.celery import app as celery_app

__all__ = ["__version__", "celery_app"]
