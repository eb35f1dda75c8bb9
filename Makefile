# make setup   the environment in .venv and a .env with a random key
# make demo    set up, fill with the demo corpus, serve at http://127.0.0.1:8000
# make test    lint and all tests, on SQLite and (when it is there) on PostgreSQL
# make lock    resolve the dependencies again (needs uv)
#
# EXTRAS="encoders bench" adds optional dependencies to setup, demo and test.
# ARGS goes to the command behind: make demo ARGS=--no-serve, make test ARGS="-k splice -x".

EXTRAS ?=
ARGS ?=

.PHONY: setup demo test lock

setup:
	@EXTRAS="$(EXTRAS)" sh deploy/setup.sh

demo: setup
	@sh deploy/demo.sh $(ARGS)

test: setup
	@EXTRAS="$(EXTRAS)" sh deploy/test.sh $(ARGS)

lock:
	@sh deploy/lock.sh
