#!/bin/sh
# web: migrate, then serve. worker: wait for the key and the tables, then work. Else: a manage.py
# command, for example: docker compose exec web sh deploy/entrypoint.sh createsuperuser
set -eu
cd /app
KEY_FILE=$VAR_DIR/secret-key

take_key() {
    [ -z "${SECRET_KEY:-}" ] || return 0
    if [ "$1" = web ] && [ ! -s "$KEY_FILE" ]; then
        (
            umask 077
            python -c 'import secrets; print(secrets.token_urlsafe(50))' >"$KEY_FILE.part"
            mv "$KEY_FILE.part" "$KEY_FILE"
        )
    fi
    until [ -s "$KEY_FILE" ]; do sleep 1; done
    SECRET_KEY=$(cat "$KEY_FILE")
    export SECRET_KEY
}

role=${1:-web}
take_key "$role"
case $role in
web)
    python manage.py migrate --noinput --verbosity 0
    exec gunicorn dialfork_site.wsgi:application --config deploy/gunicorn.conf.py \
        --bind 0.0.0.0:8000 --worker-class gthread --workers "${WEB_PROCESSES:-2}" --threads 8 \
        --timeout 60 --worker-tmp-dir /dev/shm --no-control-socket --access-logfile -
    ;;
worker)
    until python manage.py migrate --check >/dev/null 2>&1; do sleep 2; done
    exec celery -A dialfork_site worker --loglevel INFO --concurrency "${WORKER_PROCESSES:-2}"
    ;;
*)
    exec python manage.py "$@"
    ;;
esac
