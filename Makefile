# make demo   sets up what it needs, runs the main job on two hosts of this machine, shows the table
# make test   sets up what it needs, runs all tests (as root it installs missing system packages)

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
VENV ?= .venv
export VENV

.PHONY: help demo test lint bench soak screenshots lock venv venv-dev

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1 - /p' Makefile

demo: venv ## the main job on real input: two hosts, two playbooks, the table
	@$(VENV)/bin/benchrack demo

test: venv-dev ## all tests
	@tools/system-packages.sh
	@$(VENV)/bin/pytest $(ARGS)

lint: venv-dev ## style, types, import contracts, shell scripts
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --quiet --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports
	@tools/system-packages.sh
	@# what hosts execute is put together from parts, and checked whole by the tests
	@if command -v shellcheck >/dev/null || [ "$$CI" = true ]; \
	then shellcheck tools/*.sh .ci/run; \
	else echo "lint: shellcheck is missing, so no shell script was checked" >&2; fi

bench: venv-dev ## what benchrack itself costs
	@$(VENV)/bin/pytest -q -s tests/bench/bench_costs.py

soak: venv-dev ## the fault tests, again and again, for MINUTES (default 10)
	@tools/soak.sh $(MINUTES)

screenshots: venv ## what the demo shows, as text and as SVG, into docs/screenshots
	@$(VENV)/bin/python tools/screenshots.py docs/screenshots

lock: ## write the lock files anew from pyproject.toml
	@tools/lock.sh

venv: ## .venv with what the product needs
	@tools/venv.sh requirements.lock

venv-dev: ## .venv with what its developers need too
	@tools/venv.sh requirements-dev.lock
