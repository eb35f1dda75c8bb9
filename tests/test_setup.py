"""Set-up, locks, containers and documents: what a fresh machine meets first."""

from __future__ import annotations

import re
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = ("requirements", "requirements-test", "requirements-encoders", "requirements-bench")


def named(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower()


def lock_text(name: str) -> str:
    return (ROOT / f"{name}.lock").read_text()


def locked(name: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9._-]+)==", lock_text(name), re.MULTILINE))


@pytest.fixture
def machine(tmp_path):
    """A copy of the set-up in a folder of its own, and a PATH that holds only what is put there."""
    project, path = tmp_path / "project", tmp_path / "bin"
    (project / "deploy").mkdir(parents=True)
    path.mkdir()
    shutil.copy(ROOT / "deploy" / "setup.sh", project / "deploy")
    for tool in ("sh", "dirname", "cat", "sed", "grep", "mv", "sort"):
        (path / tool).symlink_to(shutil.which(tool))
    return Machine(project, path)


class Machine:
    def __init__(self, project: Path, path: Path) -> None:
        self.project, self.path = project, path

    def python(self, name: str, version: tuple[int, int], *, ensurepip: bool = True) -> None:
        """A stand-in that answers the questions set-up asks of a Python."""
        in_range = (3, 11) <= version < (3, 14)
        script = f"""#!/bin/sh
case "$2" in
*"sys.exit(not"*) exit {0 if in_range else 1} ;;
*"import ensurepip"*) exit {0 if ensurepip else 1} ;;
*print*) echo python{version[0]}.{version[1]} ;;
esac
[ "$1" = --version ] && echo Python {version[0]}.{version[1]}.0
[ "$1" = -m ] && echo "venv by {name}" && exit 7
exit 0
"""
        self.add(name, script)

    def add(self, name: str, script: str) -> None:
        (self.path / name).write_text(script)
        (self.path / name).chmod(0o755)

    def setup(self, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "deploy/setup.sh"],
            cwd=self.project,
            env={"PATH": str(self.path), **env},
            capture_output=True,
            text=True,
            check=False,
        )


def test_the_newest_python_in_range_is_taken(machine):
    for name, version in (("python3.11", (3, 11)), ("python3.13", (3, 13)), ("python3", (3, 14))):
        machine.python(name, version)
    assert "venv by python3.13" in machine.setup().stdout


def test_a_name_without_a_python_behind_it_is_passed_over(machine):
    machine.add("python3.13", "#!/bin/sh\necho no such version >&2\nexit 127\n")
    machine.python("python3.11", (3, 11))
    assert "venv by python3.11" in machine.setup().stdout


def test_without_a_python_in_range_one_sentence_says_what_to_install(machine):
    machine.python("python3", (3, 14))
    done = machine.setup()
    assert done.returncode == 1
    assert "DialFork needs Python 3.11, 3.12 or 3.13 and finds none" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_python_without_ensurepip_is_told_apart_and_the_package_named(machine):
    machine.python("python3", (3, 12), ensurepip=False)
    done = machine.setup()
    assert done.returncode == 1
    assert "install the package python3.12-venv" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_unknown_extra_is_refused_before_anything_is_made(machine):
    machine.python("python3.12", (3, 12))
    done = machine.setup(EXTRAS="encoder")
    assert done.returncode == 1
    assert "EXTRAS takes encoders and bench" in done.stderr
    assert not (machine.project / ".venv").exists()


@pytest.fixture
def made(machine):
    """A machine whose .venv is there; its pip writes down what it is asked to install."""
    folder = machine.project / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").write_text(
        f'#!/bin/sh\n[ "$2" = pip ] && echo "$@" >>"{machine.project}/pip.txt" && exit 0\n'
        f'exec "{sys.executable}" "$@"\n'
    )
    (folder / "python").chmod(0o755)
    for lock in LOCKS:
        (machine.project / f"{lock}.lock").write_text(f"{lock}\n")
    return machine


def installs(machine) -> list[str]:
    lines = (machine.project / "pip.txt").read_text().splitlines()
    return [line for line in lines if " install " in line]


def test_a_second_set_up_installs_nothing(made):
    assert made.setup().returncode == 0
    assert len(installs(made)) == 1
    assert made.setup().returncode == 0
    assert len(installs(made)) == 1


def test_a_changed_lock_is_installed_again(made):
    made.setup()
    (made.project / "requirements-test.lock").write_text("other\n")
    made.setup()
    assert len(installs(made)) == 2


def test_extras_are_added_to_what_is_there(made):
    made.setup()
    assert made.setup(EXTRAS="encoders bench").returncode == 0
    asked = installs(made)[1:]
    assert [line.split()[-1] for line in asked] == [
        "torch==2.13.0",
        "requirements-encoders.lock",
        "requirements-bench.lock",
    ]


def test_everything_but_torch_is_installed_by_hash_and_from_wheels(made):
    made.setup(EXTRAS="encoders bench")
    for line in installs(made):
        assert "--only-binary=:all:" in line
        assert "--require-hashes" in line or "torch==" in line


def test_the_key_is_random_private_and_kept(made):
    made.setup()
    path = made.project / ".env"
    written = path.read_text()
    assert re.fullmatch(r"SECRET_KEY=\S{50,}\n", written)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    made.setup()
    assert path.read_text() == written


def test_an_empty_key_is_filled_and_the_rest_of_the_file_kept(made):
    path = made.project / ".env"
    path.write_text("SECRET_KEY=\nPUBLIC_URL=http://localhost:8080\n")
    made.setup()
    assert "PUBLIC_URL=http://localhost:8080\n" in path.read_text()
    assert re.search(r"^SECRET_KEY=\S{50,}$", path.read_text(), re.MULTILINE)


@pytest.mark.parametrize("script", sorted(ROOT.glob("deploy/*.sh")), ids=lambda path: path.name)
def test_scripts_are_valid_shell(script):
    done = subprocess.run(["sh", "-n", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_a_hash_and_no_host_is_named(name):
    text = lock_text(name)
    assert "://" not in text
    for block in re.split(r"\n(?=[a-z0-9])", text):
        if "==" in block.splitlines()[0]:
            assert "--hash=sha256:" in block, block.splitlines()[0]


def test_the_locks_hold_what_the_project_names():
    assert {named(r) for r in PROJECT["dependencies"]} <= locked("requirements")
    extras = PROJECT["optional-dependencies"]
    assert {named(r) for r in extras["test"]} <= locked("requirements-test")
    assert {named(r) for r in extras["encoders"]} - {"torch"} <= locked("requirements-encoders")
    assert {named(r) for r in extras["bench"]} <= locked("requirements-bench")


@pytest.mark.parametrize("name", LOCKS[:3])
def test_torch_is_in_no_lock(name):
    assert not {one for one in locked(name) if re.match(r"torch$|nvidia-|cuda-|triton$", one)}


def test_every_setting_is_explained_in_the_readme():
    read = re.findall(
        r'env\.\w+\(\s*"([A-Z_]+)"', (ROOT / "dialfork_site" / "settings.py").read_text()
    )
    readme = (ROOT / "README.md").read_text()
    assert len(read) > 8
    assert not [name for name in read if f"`{name}`" not in readme]


def test_every_dependency_has_its_reason_and_licence():
    listed = (ROOT / "docs" / "dependencies.md").read_text()
    wanted = [*PROJECT["dependencies"]]
    for extra in PROJECT["optional-dependencies"].values():
        wanted += extra
    rows = {line.split("|")[1].strip() for line in listed.splitlines() if line.startswith("| ")}
    assert not {named(r) for r in wanted} - rows


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def test_every_service_has_a_health_check_and_survives_a_restart(compose):
    assert set(compose["services"]) == {"web", "worker", "db", "redis", "proxy"}
    for name, service in compose["services"].items():
        assert service["healthcheck"]["test"], name
        assert service["restart"] == "unless-stopped", name


def test_what_must_last_lies_in_named_volumes(compose):
    mounted = [
        mount.split(":")[0]
        for service in compose["services"].values()
        for mount in service["volumes"]
    ]
    assert {mount for mount in mounted if not mount.startswith("./")} == set(compose["volumes"])


def test_only_the_proxy_listens_and_on_this_machine_by_default(compose):
    ports = {name: s["ports"] for name, s in compose["services"].items() if "ports" in s}
    assert set(ports) == {"proxy"}
    assert all(":-127.0.0.1:" in port for port in ports["proxy"])


def test_the_example_settings_work_without_edits(compose):
    """Each variable that compose asks for has a default, and the example names known ones only."""
    text = (ROOT / "docker-compose.yml").read_text()
    asked = re.findall(r"\$\{(\w+)(:-)?", text)
    assert all(default for _, default in asked)
    example = re.findall(r"^(\w+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)
    assert set(example) == {name for name, _ in asked} - {"LOG_LEVEL"}


def test_the_image_holds_every_file_its_build_copies():
    for line in (ROOT / "Dockerfile").read_text().splitlines():
        if line.startswith("COPY "):
            for source in line.split()[1:-1]:
                assert (ROOT / source).exists(), source


def test_the_site_does_not_run_as_root_in_its_image():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert lines.index("USER dialfork") < lines.index('CMD ["web"]')
