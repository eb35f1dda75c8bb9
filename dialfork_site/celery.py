"""The Celery application. Rows with a lease are the truth; the queue only carries their keys."""

import os
from typing import Any

from celery import Celery
from celery.signals import worker_ready, worker_shutting_down

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dialfork_site.settings")

app = Celery("dialfork")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

_housekeepers: list[Any] = []


@worker_ready.connect
def start_housekeeping(sender: Any = None, **kwargs: Any) -> None:
    """Each team worker beats and sweeps by itself, so that no scheduler has to run beside it."""
    # Here because it needs the models, which are not loaded when this module is.
    from dialfork_site.embedded import NAME
    from dialfork_site.housekeeping import Housekeeper

    if sender.hostname == NAME:
        return
    _housekeepers.append(Housekeeper(sender.hostname))
    _housekeepers[-1].start()


@worker_shutting_down.connect
def stop_housekeeping(**kwargs: Any) -> None:
    while _housekeepers:
        _housekeepers.pop().stop()
