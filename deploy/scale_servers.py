"""A PostgreSQL and a Redis of one's own, and workers, for as long as a measurement lasts."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def postgresql():
    """Yields the DATABASE_URL of a server in a temporary folder."""
    found = [str(Path(p).parent) for p in sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))]
    on_path = shutil.which("initdb")
    if not found and not on_path:
        sys.exit("PostgreSQL is not found: install it.")
    programs = Path(found[-1] if found else str(Path(on_path or "").parent))
    folder = tempfile.mkdtemp(prefix="dialfork-scale-pg-")
    as_server: dict = {}
    if os.getuid() == 0:
        # PostgreSQL refuses to run as root.
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        as_server = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    data, port = f"{folder}/data", free_port()

    def call(program: str, *arguments: str) -> None:
        subprocess.run(  # noqa: S603
            [str(programs / program), *arguments],
            check=True,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            **as_server,
        )

    try:
        call("initdb", "-D", data, "-A", "trust", "-U", "postgres", "--encoding", "UTF8")
        options = f"-p {port} -k {folder} -h 127.0.0.1 -c shared_buffers=512MB"
        call("pg_ctl", "-D", data, "-w", "-l", f"{folder}/log", "-o", options, "start")
        yield f"postgres://postgres@127.0.0.1:{port}/postgres"
    finally:
        if Path(data, "postmaster.pid").exists():
            call("pg_ctl", "-D", data, "-m", "fast", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def redis():
    """Yields the BROKER_URL of a server that keeps nothing."""
    server = shutil.which("redis-server")
    if server is None:
        sys.exit("redis-server is not found: install Redis.")
    port = free_port()
    command = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603
    try:
        wait_for(lambda: _answers(port), "Redis")
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(10)


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def wait_for(condition, what: str, seconds: float = SECONDS) -> None:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            sys.exit(f"{what} was not reached in {seconds:.0f} s.")
        time.sleep(0.1)


class Workers:
    """Celery workers of one thread each; `peak` is the most memory any of them held, in bytes."""

    def __init__(self, stack: ExitStack, n: int = 2) -> None:
        self.processes: list[subprocess.Popen] = []
        self.peak = 0
        for _ in range(n):
            self.start()
        stack.callback(self.stop)

    def start(self) -> None:
        name = f"scale{len(self.processes)}@%h"
        celery = [sys.executable, "-m", "celery", "-A", "dialfork_site", "worker", "-n", name]
        options = ["--pool", "threads", "-c", "1", "--without-gossip", "--without-mingle"]
        self.processes.append(
            subprocess.Popen(  # noqa: S603
                [*celery, *options],
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    def look(self) -> None:
        """Note the memory of the workers that run now."""
        for process in self.processes:
            try:
                status = Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                continue
            for line in status.splitlines():
                if line.startswith("VmHWM"):
                    self.peak = max(self.peak, 1024 * int(line.split()[1]))

    def spent(self) -> float:
        """Processor seconds of the workers that run now."""
        ticks = 0
        for process in self.processes:
            try:
                stat = Path(f"/proc/{process.pid}/stat").read_text()
            except OSError:
                continue
            ticks += sum(map(int, stat.rpartition(")")[2].split()[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def kill_one(self) -> None:
        """Kill the first worker that runs, and start another."""
        first = next(p for p in self.processes if p.poll() is None)
        first.kill()
        first.wait()
        self.start()

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(60)
