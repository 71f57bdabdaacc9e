# What a person types here. Each takes settings: `make serve PORT=8001`, `make test ARGS="-k up"`,
# `make check PYTHON=python3.13 VENV=.venv-3.13`.

PYTHON ?= python3
VENV ?= .venv
PORT ?= 8000
ARGS ?=
export PORT

# What the shell around us set for other projects would lead pip and Python astray.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PIP_USER PIP_TARGET PIP_PREFIX

RUN := "$(VENV)/bin/python"
TOOLS := "$(VENV)-tools/bin/python"
# For tools that read the settings and connect to nothing.
NOWHERE := DATABASE_URL=postgresql:///none REDIS_URL=unix:///none SECRET_KEY=none HTTPS=0

.PHONY: help serve test check bench audit lock clean tools run-time development python
.SILENT:

help:
	echo "make serve   the service, on http://127.0.0.1:$(PORT)/; Ctrl-C stops it"
	echo "make test    all tests (ARGS=\"-k words\" for some)"
	echo "make check   format, lint, types, import rules"
	echo "make bench   speed and accuracy against named baselines"
	echo "make audit   known vulnerabilities in what the lock names"
	echo "make lock    renew the lock from requirements*.in"
	echo "make clean   remove the virtualenvs and the caches; the data in .run stays"

serve: run-time
	exec $(RUN) manage.py up

test: development
	exec $(RUN) -m pytest $(ARGS)

check: development
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(NOWHERE) $(RUN) -m mypy
	"$(VENV)/bin/lint-imports"

bench: development
	exec $(RUN) -m bench $(ARGS)

# Apart from `check`: its answer changes without us. Of the lock's packages, not of its own.
audit: tools
	$(TOOLS) -m pip_audit --disable-pip --require-hashes -r requirements-dev.txt

# For every Python from the floor up, with hashes, and with no host in it.
lock: tools
	$(TOOLS) -m uv pip compile $(LOCK) requirements.in -o requirements.txt
	$(TOOLS) -m uv pip compile $(LOCK) -c requirements.txt requirements-dev.in -o requirements-dev.txt

LOCK := --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header

tools: run-time
	$(RUN) -m venv "$(VENV)-tools"
	$(TOOLS) -m pip install -qq pip-audit uv

clean:
	rm -rf .venv .venv-* .venv*.lock .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

run-time: python
	"$(PYTHON)" -I config/install.py "$(VENV)" requirements.txt

development: python
	"$(PYTHON)" -I config/install.py "$(VENV)" requirements-dev.txt

python:
	command -v "$(PYTHON)" >/dev/null || { echo "FabricScout needs Python 3.11 or newer, and \
	$(PYTHON) is not found: name one, as in \`make serve PYTHON=/path/to/python3.11\`." >&2; exit 1; }
