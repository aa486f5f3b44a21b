# Doorkeeper's commands. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# What starts a Spark session has a process of its own: Spark's bridge to the JVM can't use file descriptors above 1,023.
SPARKING := tests/audit tests/compat/test_spark_source.py
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help
help: ## List these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

.PHONY: install
install: $(INSTALLED) ## Make .venv with everything pinned, and .venv/bin/doorkeeper

$(INSTALLED): requirements/dev.txt pyproject.toml tools/need.sh
	@bash tools/need.sh python-venv
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q src
	@touch $@

.PHONY: kafka
kafka: install ## Fetch the jars of a real Kafka, the oracle of the tests (needs Java 17+ and Maven)
	@bash tools/need.sh java maven
	@$(BIN)/python -m tools.kafka_jars && $(BIN)/python -m tools.spark_jars

.PHONY: demo
demo: install ## The whole story: names and changes judged, a cluster evaluated, audited on Spark, and its limits turned on
	@bash tools/need.sh java || echo "Going on without Java: the audit is left out." >&2
	@DEMO_OUT=.cache/demo-audit bash examples/demo.sh $(BIN)/doorkeeper $(BIN)/python

.PHONY: check
check: install ## The fast part: format, lint, types, layers, core tests in random order, rules/ covered to 100 %
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest tests/rules -m "not kafka and not long"
	$(BIN)/coverage report

.PHONY: test
test: check ## Everything that CI runs, a real Kafka included
	@$(MAKE) --no-print-directory kafka || { [ "$$CI" != true ] && \
		echo "Going on without a real Kafka: the tests that ask it are skipped by name." >&2; }
	@bash tools/need.sh browser || { [ "$$CI" != true ] && \
		echo "Going on without a browser: the tests that look at the audit's report in one are skipped by name." >&2; }
	$(BIN)/pytest tests --ignore=tests/rules $(SPARKING:%=--ignore=%) -m "not long"
	$(BIN)/pytest $(SPARKING) -m "not long"
	$(BIN)/pytest tests/rules -m "kafka and not long"

.PHONY: test-long
test-long: test ## The long loops, whole corpora, soaks and fuzz runs as well
	HYPOTHESIS_PROFILE=exhaustive $(BIN)/pytest tests -m long

.PHONY: bench
bench: kafka ## Run the benchmarks and rewrite benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

.PHONY: docs
docs: install ## Regenerate the reference pages
	$(BIN)/doorkeeper rules --format markdown > docs/reference/rules.md
	@sed -i '/^| API | key | versions | what | why |/,$$d' docs/reference/gateway.md
	$(BIN)/doorkeeper gateway explain --format markdown >> docs/reference/gateway.md
	$(BIN)/python -m doorkeeper.door.reference > docs/reference/refusals.md
	$(BIN)/python -m doorkeeper.cluster.protocol_reference > docs/reference/protocol.md
	$(BIN)/python -m tools.config_reference

.PHONY: lock
lock: install ## Pin the requirements anew (needs uv)
	@for set in "runtime" "dev --extra audit --group dev" "audit --extra audit"; do \
		set -- $$set; name=$$1; shift; \
		uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
			--no-header --no-annotate pyproject.toml "$$@" -o requirements/$$name.txt; \
	done

.PHONY: clean
clean: ## Remove .venv and caches (fetched jars stay in .cache)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage dist build
