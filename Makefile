# `make demo` on a fresh clone installs what it needs into .venv and runs the car plant. `make help` lists the rest.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/ready
VENV42 := .venv42
SPARK42 := 'pyspark[connect]>=4.2,<4.3'

.PHONY: help demo test test-postgres test-spark42 test-cluster test-places conformance lint format cases fuzz mutants chaos profile-refresh \
	peers plots clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z0-9%-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-16s %s\n", $$1, $$2 }'

# Into an environment, which packages. Java comes from PyPI only where the machine has none that Spark can use.
define install
	test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check $(2)
	$(1)/bin/python -c 'import sys; from slackwater.spark.java import find_java; sys.exit(find_java() is None)' \
		|| $(1)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[java]'
	touch $@
endef

# Anew when the dependencies change.
$(READY): pyproject.toml
	$(call install,$(VENV),--editable '.[dev]')

$(VENV42)/ready: pyproject.toml
	$(call install,$(VENV42),--editable '.[test]' $(SPARK42))

demo: $(READY) ## the car plant: data arrives, views move, and what each step costs
	$(RUN) -m examples.car_plant

test: $(READY) ## everything that must hold and needs no server, in about half an hour on two cores
	$(RUN) -m pytest -m "not postgres and not cluster and not places" --numprocesses 2 --dist loadgroup $(ARGS)

test-postgres: $(READY) ## shared warehouses, on PostgreSQL servers of the tests' own
	$(RUN) -m pytest -m "postgres and not places" --numprocesses 2 $(ARGS)

test-spark42: $(VENV42)/ready ## on Spark 4.2, in an environment of its own; some of the cases, EVERY=1 for all
	SLACKWATER_EVERY=$(or $(EVERY),6) $(VENV42)/bin/python -m pytest -m "not postgres and not cluster and not places" -k "not on_sail" \
		--numprocesses 2 --dist loadgroup tests/unit tests/spark tests/test_cases.py $(ARGS)

test-cluster: $(READY) ## on a Spark cluster of the tests' own, then through Spark Connect; some of the cases, EVERY=1 for all
	for place in cluster connect; do SLACKWATER_EVERY=$(or $(EVERY),18) $(RUN) -m pytest --spark $$place -k "spark and not sail" \
		tests/spark/test_cluster.py tests/spark/test_few_rows.py tests/spark/test_given_session.py tests/test_cases.py $(ARGS) || exit; done

test-places: $(READY) ## warehouses in S3 and HDFS, on servers of the tests' own, which Go and Maven fetch once, in some minutes
	$(RUN) -m tests.places.servers
	$(RUN) -m pytest -m places $(ARGS)

conformance: $(READY) ## every case file on Spark, and on Sail under every schedule
	SLACKWATER_EVERY=1 $(RUN) -m pytest --numprocesses 2 --dist loadgroup tests/test_cases.py $(ARGS)

lint: $(READY) ## style and types
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

format: $(READY) ## put the code in its usual shape
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

cases: $(READY) ## rewrite what the case files expect, from what the engine answers
	$(RUN) -m tests.cases --rewrite $(ARGS)

fuzz: $(READY) ## random schemas, views, changes and schedules against recomputation
	$(RUN) -m tests.fuzz $(ARGS)

mutants: $(READY) ## break each change rule once and see that the suite notices
	$(RUN) -m tests.mutants $(ARGS)

chaos: $(READY) ## kill processes at work, 450 times on Sail and 50 on Spark, and look at what they leave; goes on where it stopped
	$(RUN) -m tests.chaos $(ARGS)

bench-%: $(READY) ## run a module of bench/, such as bench-tpch, which generates the data
	$(RUN) -m bench.$* $(ARGS)

profile-refresh: $(READY) ## where the CPU seconds of a refresh go; QUERY=17, ARGS="--scale-factor 0.1"
	$(RUN) -m bench.profile_refresh --query $(or $(QUERY),3) $(ARGS)

plots: $(READY) ## the pictures of docs/, from what bench-pace has measured
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[plots]'
	$(RUN) -m bench.plots $(ARGS)

peers: ## install the systems that benchmarks compare with, each into an environment of its own
	for peer in duckdb apache-flink; do test -x .peers/$$peer/bin/python || $(PYTHON) -m venv .peers/$$peer; \
		.peers/$$peer/bin/python -m pip install --quiet --disable-pip-version-check $$peer || exit; done

clean: ## remove what was installed and measured
	rm -rf $(VENV) $(VENV42) .peers .places build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .chaos spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
