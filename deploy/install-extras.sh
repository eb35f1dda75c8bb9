#!/bin/sh
# Inside the image: the optional encoders, torch first and by version, the rest by hash.
set -eu
case "${1:-}" in
"") ;;
encoders)
    pins=$(mktemp)
    sed -n 's/^\([A-Za-z0-9._-]*==.*\) \\$/\1/p' requirements.lock requirements-encoders.lock \
        | sort -u >"$pins"
    pip install --no-cache-dir --only-binary=:all: -c "$pins" torch==2.13.0
    pip install --no-cache-dir --require-hashes --no-deps --only-binary=:all: \
        -r requirements-encoders.lock
    ;;
*)
    echo "Unknown extra '$1'; EXTRAS takes encoders." >&2
    exit 1
    ;;
esac
