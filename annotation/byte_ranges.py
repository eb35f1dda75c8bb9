"""Which bytes of a file a request asks for (RFC 9110, section 14): one range, for resuming."""

from __future__ import annotations

import re

_ONE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})\Z", re.ASCII)


class Unsatisfiable(ValueError):
    """The range starts behind the end of the file."""


def wanted(header: str, size: int) -> tuple[int, int] | None:
    """(first, last) byte of a single range of a file of `size` bytes, both inclusive.

    None where the header is to be ignored: absent, malformed, several ranges, or another unit.

    Raises
    ------
    Unsatisfiable
        If no byte of the range is there.

    >>> wanted("bytes=10-", 100), wanted("bytes=-5", 100), wanted("bytes=0-999", 100)
    ((10, 99), (95, 99), (0, 99))
    >>> wanted("bytes=0-1,4-5", 100) is None
    True
    """
    found = _ONE.match(header.strip())
    if found is None or found[1] == found[2] == "":
        return None
    if found[1] == "":
        first, last = max(0, size - int(found[2])), size - 1
    else:
        first = int(found[1])
        last = min(int(found[2]), size - 1) if found[2] else size - 1
        if found[2] and int(found[2]) < first:
            return None
    if first > last:
        raise Unsatisfiable(f"the file has {size} bytes")
    return first, last
