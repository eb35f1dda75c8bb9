"""The Celery application. Rows with a lease are the truth; the queue only carries their keys."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dialfork_site.settings")

app = Celery("dialfork")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
