#!/bin/sh
# Lint, then every test on SQLite and, when PostgreSQL is there, on PostgreSQL.
# Arguments go to pytest. TEST_DATABASE_URL names a PostgreSQL server to use instead of a private
# one. DIALFORK_REQUIRE lists services whose absence is a failure: postgresql redis chromium
# encoders.
set -eu
cd "$(dirname "$0")/.."
PY=.venv/bin/python
REQUIRED=${DIALFORK_REQUIRE:-}
PG_BIN=
PG_ROOT=

# The tests know one environment, whatever .env or the shell say.
export DEBUG=false DEMO=false BROKER_URL=memory:// ENCODER=wordllama LOG_LEVEL=ERROR
export PUBLIC_URL=http://127.0.0.1:8000 ALLOWED_HOSTS=localhost,127.0.0.1,[::1]
given=${TEST_DATABASE_URL:-}
case ${DATABASE_URL:-} in
postgres*) given=${given:-$DATABASE_URL} ;;
esac

required() {
    case " $REQUIRED " in
    *" $1 "*) return 0 ;;
    *) return 1 ;;
    esac
}

as_server() {
    # PostgreSQL refuses to run as root.
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
    else
        "$@"
    fi
}

find_postgresql() {
    for folder in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql*/bin; do
        [ -x "$folder/initdb" ] && [ -x "$folder/pg_ctl" ] && PG_BIN=$folder
    done
    if [ -z "$PG_BIN" ] && command -v initdb >/dev/null && command -v pg_ctl >/dev/null; then
        PG_BIN=$(dirname "$(command -v initdb)")
    fi
    [ -n "$PG_BIN" ]
}

stop_postgresql() {
    [ -n "$PG_ROOT" ] || return 0
    as_server "$PG_BIN/pg_ctl" -D "$PG_ROOT/data" -m immediate stop >/dev/null 2>&1 || true
    rm -rf "$PG_ROOT"
    PG_ROOT=
}
trap stop_postgresql EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

start_postgresql() {
    mkdir -p var
    PG_ROOT=$(mktemp -d "${TMPDIR:-/tmp}/dialfork-pg.XXXXXX")
    [ "$(id -u)" != 0 ] || chown nobody "$PG_ROOT"
    port=$($PY -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    as_server "$PG_BIN/initdb" -D "$PG_ROOT/data" -A trust -U postgres --no-sync --encoding UTF8 \
        --locale C >"$PG_ROOT.log" 2>&1 || { cat "$PG_ROOT.log"; return 1; }
    rm -f "$PG_ROOT.log"
    as_server "$PG_BIN/pg_ctl" -D "$PG_ROOT/data" -w -l "$PG_ROOT/data/log" \
        -o "-p $port -k $PG_ROOT -h 127.0.0.1 -F" start >/dev/null
    given=postgres://postgres@127.0.0.1:$port/postgres
}

half() {
    database=$1 url=$2
    shift 2
    echo "== Tests on $database"
    # Files stay together: some start a server or a worker of their own.
    DATABASE_URL=$url $PY -m pytest -q -n "${TEST_WORKERS:-2}" --dist loadfile \
        --no-loadscope-reorder --durations=12 "$@"
}

echo "== Lint"
$PY -m ruff check .
$PY -m ruff format --check .
DATABASE_URL=sqlite:///var/lint.sqlite3 $PY manage.py makemigrations --check --dry-run

if ! $PY -m tests.chromium --install; then
    ! required chromium || exit 1
    echo "No Chromium: the browser tests are skipped."
fi

half SQLite sqlite:///var/test.sqlite3 "$@"
ran="SQLite"
if [ -z "$given" ] && find_postgresql; then
    start_postgresql
fi
if [ -n "$given" ]; then
    # Tests without a database and sweeps over layout have just run: a second one tells them nothing.
    half PostgreSQL "$given" --database-only "$@"
    ran="$ran and PostgreSQL"
elif required postgresql; then
    echo "PostgreSQL is required here and initdb is not found: install PostgreSQL." >&2
    exit 1
else
    ran="$ran only (no PostgreSQL found: set TEST_DATABASE_URL or install it)"
fi
echo "Tests ran on $ran."
