#!/bin/sh
# Resolves pyproject.toml into the four lock files, for every platform and Python 3.11 to 3.13.
set -eu
cd "$(dirname "$0")/.."
command -v uv >/dev/null 2>&1 || {
    echo "make lock needs uv: install it with 'pip install uv' and run make lock again." >&2
    exit 1
}

resolve() {
    out=$1
    shift
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
        --no-emit-index-url --no-emit-find-links -o "$out" "$@"
}

resolve requirements.lock pyproject.toml
resolve requirements-test.lock -c requirements.lock --extra test pyproject.toml

# torch and what its CUDA builds carry stay out: setup installs torch by version, so that a CPU
# build is kept where one is offered.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
    -c requirements-test.lock --extra encoders pyproject.toml \
    | sed -n 's/^\(torch\|triton\|nvidia-[a-z0-9-]*\|cuda-[a-z0-9-]*\)==.*/--no-emit-package \1/p' \
        >"$work/torch"
# shellcheck disable=SC2046
resolve requirements-encoders.lock $(cat "$work/torch") -c requirements-test.lock \
    --extra encoders pyproject.toml

# The measured peers, without what they name but a measurement never imports.
printf '%s\n' torch anthropic codecov datasets fastapi flake8 langchain-anthropic langchain-aws \
    langchain-google-genai langchain-huggingface langchain-openai pre-commit pytest-cov \
    uvicorn >"$work/not-imported"
resolve requirements-bench.lock --excludes "$work/not-imported" -c requirements-encoders.lock \
    -c requirements-test.lock --extra bench pyproject.toml
