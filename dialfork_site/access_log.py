"""What gunicorn writes down of a request: no query, no referrer, no key that stands in a path.

Crowd platforms send who somebody is in the query, and the link of an invitation is its own key.
A log would keep both for longer than the database does.
"""

from __future__ import annotations

import re
from typing import Any

from gunicorn.glogging import Logger

KEY_IN_PATH = re.compile(r"(/(?:join|withdrawn)/)[^/]{22,}(?=/|$)")
HIDDEN = r"\1..."


def shown(path: str) -> str:
    """`path` without its query and with "..." for a key."""
    return KEY_IN_PATH.sub(HIDDEN, path.partition("?")[0])


class AccessLog(Logger):
    def atoms(self, resp: Any, req: Any, environ: Any, request_time: Any) -> dict[str, Any]:
        """The parts a log line is made of, whatever its format asks for."""
        found: dict[str, Any] = super().atoms(resp, req, environ, request_time)
        method, protocol = environ.get("REQUEST_METHOD", "-"), environ.get("SERVER_PROTOCOL", "-")
        path = shown(environ.get("PATH_INFO") or "-")
        hidden = {"f", "q", "{referer}i", "{query_string}e", "{http_referer}e", "{raw_uri}e"}
        hidden |= {"{location}o", "{cookie}i", "{set-cookie}o", "{http_cookie}e"}
        found |= dict.fromkeys(hidden, "-")
        prefix = environ.get("SCRIPT_NAME", "")
        return found | {
            "r": f"{method} {prefix}{path} {protocol}",
            "U": path,
            "{path_info}e": path,
        }
