# make test, make demo: each sets up .venv by itself, from a fresh clone, with any Python from 3.11 on.
# Another interpreter: make test PYTHON=python3.12

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
JOBS ?= 2
MINUTES ?= 10
NEWEST := numba<0.69
OLDEST := numba==0.62.1

.PHONY: help venv demo bench test check format fuzz support matrix clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo    fit the NIST problems with exact Jacobians, then time a gradient of every kernel'
	@echo 'make bench   time every derivative beside other programs; rewrites docs/benchmarks.md'
	@echo 'make test    static checks, then every test'
	@echo 'make check   static checks: ruff, pyright, import-linter'
	@echo 'make format  let ruff rewrite what it can'
	@echo 'make fuzz    attack with random kernels, MINUTES=10 of them; finds go to tests/corpus/'
	@echo 'make support compile and check what docs/support.md lists, and write it; a quarter of an hour'
	@echo 'make matrix  every test on the oldest and on the newest Numba'
	@echo 'make clean   remove the virtual environments and caches'

venv: .venv/.stamp

demo: .venv/.stamp
	@.venv/bin/python -m tools.demo

bench: .venv/.stamp
	.venv/bin/python -m pip install --quiet -e '.[bench]'
	@.venv/bin/python -m tools.bench

test: check
	.venv/bin/python -m pytest -q -n $(JOBS) --dist worksteal

check: .venv/.stamp
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/pyright --pythonpath .venv/bin/python
	.venv/bin/lint-imports --no-logo

format: .venv/.stamp
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

fuzz: .venv/.stamp
	@.venv/bin/python -m tools.fuzz --minutes $(MINUTES) --jobs $(JOBS)

support: .venv/.stamp
	@.venv/bin/python -m tools.support

matrix: .venv-oldest/.stamp .venv-newest/.stamp
	@for venv in .venv-oldest .venv-newest; do \
		$$venv/bin/irad --version && $$venv/bin/python -m pytest -q -n $(JOBS) --dist worksteal || exit 1; done

clean:
	rm -rf .venv .venv-oldest .venv-newest .pytest_cache .ruff_cache .import_linter_cache .hypothesis build *.egg-info

.venv/.stamp .venv-newest/.stamp: NUMBA := $(NEWEST)
.venv-oldest/.stamp: NUMBA := $(OLDEST)

%/.stamp: pyproject.toml
	@test -n '$(PYTHON)' || { echo 'irad needs Python 3.11 or newer: make PYTHON=/path/to/python'; exit 1; }
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	$(@D)/bin/python -m pip install --quiet -e '.[dev,demo]' '$(NUMBA)'
	@touch $@
