"""Access logs hold no id of a crowd platform and no key of an invitation."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from dialfork_site.access_log import shown

ROOT = Path(__file__).resolve().parents[1]
PERSON, TOKEN = "5f" * 12, "Q" * 43
DOORS = (
    f"/join/prolific/winter/?PROLIFIC_PID={PERSON}&STUDY_ID={PERSON}&SESSION_ID={PERSON}",
    f"/join/{TOKEN}/",
    f"/withdrawn/{'9' * 32}/?from={PERSON}",
)


@pytest.mark.parametrize(
    ("path", "written"),
    [
        (DOORS[0], "/join/prolific/winter/"),
        (DOORS[1], "/join/.../"),
        (f"/join/{TOKEN}", "/join/..."),
        (DOORS[2], "/withdrawn/.../"),
        ("/studies/winter/report/?k=1", "/studies/winter/report/"),
        ("/join/welcome/A-12ab34cd/", "/join/welcome/A-12ab34cd/"),
    ],
)
def test_keys_and_queries_are_left_out(path, written):
    assert shown(path) == written


def test_gunicorn_writes_neither_ids_nor_keys(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (tmp_path / "app.py").write_text(
        "def application(environ, start_response):\n"
        "    start_response('302 Found', [('Location', '/?' + environ['QUERY_STRING'])])\n"
        "    return [b'']\n"
    )
    # Every part a line can be made of, with the default line before it.
    line = '%(r)s "%(f)s" %(U)s %(q)s %({referer}i)s %({location}o)s %({raw_uri}e)s'
    command = [
        *(sys.executable, "-m", "gunicorn", "app:application", "--pythonpath", str(tmp_path)),
        *("--config", "deploy/gunicorn.conf.py"),
        *("--bind", f"127.0.0.1:{port}", "--access-logfile", "-", "--no-control-socket"),
        *("--access-logformat", line),
    ]
    log = tmp_path / "log"
    with log.open("w") as out:
        server = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out, env=os.environ)
        try:
            for door in DOORS:
                ask(f"http://127.0.0.1:{port}{door}")
        finally:
            server.terminate()
            server.wait(10)
    written = log.read_text()
    assert len(re.findall("GET /join/|GET /withdrawn/", written)) == 3, written
    assert PERSON not in written
    assert TOKEN not in written
    assert "9" * 32 not in written


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


def ask(address: str) -> None:
    request = urllib.request.Request(address, headers={"Referer": address})
    opener = urllib.request.build_opener(NoRedirects)
    for _ in range(100):
        try:
            opener.open(request, timeout=5)
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("gunicorn did not answer")
