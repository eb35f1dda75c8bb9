"""Container health of a worker: this worker was seen within the last minute."""

import os
import socket
import sys
from datetime import timedelta

import django

sys.path.insert(0, os.getcwd())
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dialfork_site.settings")
# The key signs nothing here, and a health check does not see the one the entry point exported.
os.environ.setdefault("SECRET_KEY", "health-check")
django.setup()

from django.utils import timezone  # noqa: E402

from scoring.models import WorkerBeat  # noqa: E402

since = timezone.now() - timedelta(minutes=1)
mine = WorkerBeat.objects.filter(worker__endswith=socket.gethostname(), seen_at__gte=since)
sys.exit(not mine.exists())
