# Each target sets up what it needs in .venv by itself; a second run starts at once.
PYTHON ?= python3
CASE   ?= pca
ROUNDS ?= 5
JOBS   ?= 2
ARGS   ?=

VENV   := .venv
WEB    := src/lowland/explorer/web
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PINS   := pyproject.toml constraints.txt
LOOPS := $(sort $(shell find src/lowland -name "*_loops.py"))
TORCH  := $(shell sed -n 's/^\(torch==.*\)/\1/p' constraints.txt)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-slow test-web web browser peers lint bench docs gallery clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: $(VENV)/.installed-base ## map the bundled digits with six methods; writes lowland-demo/demo.html
	@$(BIN)/lowland demo

test: $(VENV)/.compiled ## run the tests and the examples in docstrings (ARGS="-k pca" to choose; JOBS=0: in one process)
	@echo "running the tests in $(JOBS) processes (about a quarter of an hour on 2 cores)"
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

test-slow: $(VENV)/.compiled ## run the long checks only
	@$(BIN)/python -m pytest -m slow $(ARGS)

web: | $(BIN)/python ## build the script of the interactive map (needs Node.js ^20.19 or >=22.12)
	@$(BIN)/python hatch_build.py

test-web: $(WEB)/node_modules/.package-lock.json ## check types and run the unit tests of the interactive map (needs Node.js)
	@cd $(WEB) && npm run --silent types && npm run --silent test

browser: ## install Chromium for the tests of pages, where apt-get and root are at hand
	@if command -v chromium >/dev/null; then :; \
	elif [ "`id -u`" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	else echo "make: no Chromium, and no root or apt-get to install it: the tests of pages will be skipped" >&2; fi

peers: $(VENV)/.compiled $(VENV)/.installed-peers build/peers/.unpacked ## run scikit-learn's and openTSNE's own tests against Lowland (ARGS="-k isomap" to choose)
	@echo "running the tests of other projects (about 3 minutes)"
	@$(BIN)/python tests/peers/run.py $(ARGS)

lint: $(VENV)/.installed-test ## check style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/.installed-bench ## compare speed, memory and accuracy with peers (CASE=pca, svd, all; ROUNDS=5)
	@$(BIN)/python -m benchmarks.run $(CASE) --rounds $(ROUNDS) $(ARGS)

docs: $(VENV)/.installed-docs ## build the documentation in docs/_build/html
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

gallery: $(VENV)/.installed-base ## draw the pictures of the documentation in docs/_build/gallery
	@for script in docs/gallery/*.py; do $(BIN)/python $$script docs/_build/gallery || exit 1; done

clean: ## remove what was built; .venv stays
	rm -rf build dist docs/_build lowland-demo src/lowland/explorer/static $(WEB)/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: no '$(PYTHON)' found. Install Python 3.11 or newer, or name yours: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: Lowland needs Python 3.11 or newer and '$(PYTHON)' is `$(PYTHON) -V 2>&1`." >&2; \
	  echo "      Name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "make: '$(PYTHON)' has no venv module. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "making $(VENV) with `$(PYTHON) -V`"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# The stamps are renewed when the declared packages change. Every extra contains the bare install.
$(VENV)/.installed-base: $(PINS) | $(BIN)/python
	@echo "installing lowland into $(VENV) (about a minute the first time)"
	@$(PIP) -e .
	@touch $@

$(VENV)/.installed-test: $(PINS) | $(BIN)/python
	@echo "installing $(TORCH) into $(VENV) (the largest part)"
	@$(PIP) $(TORCH)
	@echo "installing lowland[test] into $(VENV) (a minute or two the first time)"
	@$(PIP) -e '.[test]'
	@touch $(VENV)/.installed-base $@

# Two processes that run tests would each compile the same loops.
$(VENV)/.compiled: $(VENV)/.installed-test $(LOOPS)
	@echo "compiling the inner loops (about a minute the first time)"
	@$(BIN)/python -c 'import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]' $(subst /,.,$(patsubst src/%.py,%,$(LOOPS)))
	@touch $@

$(WEB)/node_modules/.package-lock.json: $(WEB)/package-lock.json
	@command -v npm >/dev/null || { echo "make: npm not found. Install Node.js 20.19 or newer" >&2; exit 1; }
	@echo "installing the packages of $(WEB)"
	@cd $(WEB) && npm ci --silent
	@touch $@

# openTSNE's tests are in its source distribution only.
build/peers/.unpacked: constraints.txt | $(BIN)/python
	@rm -rf build/peers && mkdir -p build/peers/opentsne
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary openTSNE -c constraints.txt -d build/peers openTSNE
	@tar -xzf build/peers/*.tar.gz -C build/peers/opentsne --strip-components=1
	@touch $@

$(VENV)/.installed-%: $(PINS) | $(BIN)/python
	@echo "installing lowland[$*] into $(VENV) (a minute or two the first time)"
	@$(PIP) -e '.[$*]'
	@touch $(VENV)/.installed-base $@
