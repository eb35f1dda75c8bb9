#!/bin/sh
# Makes .venv with the locked dependencies and .env with a random key. Running it again changes
# nothing while the lock files are the same. EXTRAS: "encoders", "bench" or both.
set -eu
cd "$(dirname "$0")/.."
VENV=.venv
PY=$VENV/bin/python
TORCH=torch==2.13.0

stop() {
    echo "$1" >&2
    exit 1
}

in_range() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null
}

find_python() {
    unfit=
    for candidate in ${PYTHON:-python3.13 python3.12 python3.11 python3 python}; do
        # A name on PATH may be a shim without a Python behind it, so each one is run.
        command -v "$candidate" >/dev/null 2>&1 && in_range "$candidate" || continue
        if "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "$candidate"
            return
        fi
        [ -n "$unfit" ] || unfit=$("$candidate" -c \
            'import sys; print("python%d.%d" % sys.version_info[:2])')
    done
    [ -z "$unfit" ] || stop "$unfit is here but cannot make virtual environments: install the \
package $unfit-venv (Debian and Ubuntu: apt install $unfit-venv) and run make setup again."
    stop "DialFork needs Python 3.11, 3.12 or 3.13 and finds none: install one (Debian and Ubuntu: \
apt install python3 python3-venv; macOS: brew install python@3.13) and run make setup again."
}

make_venv() {
    if [ -x $PY ] && in_range $PY && $PY -m pip --version >/dev/null 2>&1; then
        return
    fi
    python=$(find_python)
    echo "Making $VENV with $("$python" --version)."
    "$python" -m venv --clear $VENV
}

fingerprint() {
    $PY - "$@" <<'CODE'
import hashlib, pathlib, sys
text = sys.version + "".join(pathlib.Path(name).read_text() for name in sys.argv[1:])
print(hashlib.sha256(text.encode()).hexdigest())
CODE
}

locked() {
    $PY -m pip install -qq --disable-pip-version-check --require-hashes \
        --only-binary=:all: --no-compile "$@"
}

install_base() {
    locked -r requirements-test.lock
}

install_encoders() {
    # torch first: sentence-transformers keeps the build that is there, which may be a CPU build.
    # Builds differ by platform, so torch is pinned by version and the rest by hash.
    sed -n 's/^\([A-Za-z0-9._-]*==.*\) \\$/\1/p' requirements-test.lock requirements-encoders.lock \
        | sort -u >$VENV/pins.txt
    $PY -m pip install -qq --disable-pip-version-check --only-binary=:all: \
        -c $VENV/pins.txt $TORCH
    locked --no-deps -r requirements-encoders.lock
}

install_bench() {
    locked --no-deps -r requirements-bench.lock
}

part() {
    name=$1
    shift
    stamp=$VENV/.installed-$name
    now=$(fingerprint "$@" deploy/setup.sh)
    [ "$(cat "$stamp" 2>/dev/null)" = "$now" ] && return
    echo "Installing the locked dependencies ($name)."
    "install_$name"
    echo "$now" >"$stamp"
}

write_env() {
    if [ -f .env ] && grep -q '^SECRET_KEY=.' .env; then
        return
    fi
    (
        umask 077
        [ ! -f .env ] || sed '/^SECRET_KEY=/d' .env >.env.part
        $PY -c 'import secrets; print("SECRET_KEY=" + secrets.token_urlsafe(50))' >>.env.part
        mv .env.part .env
    )
    echo "Wrote a random SECRET_KEY to .env."
}

for extra in ${EXTRAS:-}; do
    case $extra in
    encoders | bench) ;;
    *) stop "Unknown extra '$extra'; EXTRAS takes encoders and bench." ;;
    esac
done

make_venv
part base requirements-test.lock
for extra in ${EXTRAS:-}; do
    # The measured peers are read beside the encoders they use.
    [ "$extra" = encoders ] || part encoders requirements-test.lock requirements-encoders.lock
    part "$extra" requirements-test.lock "requirements-$extra.lock"
done
write_env
