#!/bin/sh
# The demo: its own rows in the configured database, then the server with the embedded worker.
# --no-serve does all but serve; --port N and --host H go to the server.
set -eu
cd "$(dirname "$0")/.."
PY=.venv/bin/python
serve=yes
port=
before=
for argument; do
    shift
    case $argument in
    --no-serve) serve=no ;;
    --port=*) port=${argument#--port=} ;;
    esac
    [ "$before" != --port ] || port=$argument
    [ "$argument" = --no-serve ] || set -- "$@" "$argument"
    before=$argument
done
[ -z "$port" ] || export PUBLIC_URL="http://127.0.0.1:$port"
export DEMO=1
$PY manage.py migrate --verbosity 0
$PY manage.py make_demo
[ $serve = yes ] || exit 0
exec $PY manage.py serve "$@"
