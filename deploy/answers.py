"""Container health: the site answers, even if it says that something else is degraded."""

import os
import sys
import urllib.error
import urllib.request
from urllib.parse import urlsplit

host = urlsplit(os.environ.get("PUBLIC_URL", "")).hostname or "localhost"
request = urllib.request.Request(sys.argv[1], headers={"Host": host})  # noqa: S310
try:
    urllib.request.urlopen(request, timeout=4)  # noqa: S310
except urllib.error.HTTPError as error:
    sys.exit(error.code == 500)
except OSError as error:
    sys.exit(f"{sys.argv[1]} does not answer: {error}")
