# Needs only Python 3.11 to 3.13, pip and make. Everything else goes into .venv, except Java.

# Another version of Spark than the newest, in an environment of its own, as in: make test-spark SPARK=4.2
SPARK ?=

VENV := $(if $(SPARK),.venv-spark-$(SPARK),.venv)
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
WARM := $(VENV)/.warm

# The Python to build .venv with. Empty: the first suitable one on PATH.
PYTHON ?=
export PYTHON

# Extra arguments for demo, test, the benchmarks and real, as in: make test ARGS="-k java"
ARGS ?=

# How many records the example of test-kafka has, as in: make test-kafka RECORDS=1500000
RECORDS ?=

# Extra arguments for the tests of Delta in test-spark.
DELTA_ARGS ?=

# The folder with the data sets of real.
DATA ?=

# The commit bench-compare compares with.
BASE ?=

# Starts the recipes that run Spark. The setup has made sure of Java, so this only looks it up.
WITH_JAVA = JAVA_HOME="$$($(BIN)/python -I src/watersmeet/java.py --quiet)" && export JAVA_HOME &&

.DEFAULT_GOAL := help
.PHONY: help setup java demo test soak kafka test-kafka test-ways test-spark test-s3 lint format types check bench-keyed bench-shapes bench-latency bench-peers bench-outer bench-adaptive bench-skew bench-planning bench-sites bench-generic bench-progressive bench-sessions bench-compare report real clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' Makefile

setup: java $(WARM) ## Make .venv, install everything, compile the kernels (the other targets do this)

# Before the downloads, so that a missing Java is known at once. -I: run the file alone, with
# neither its folder nor PYTHONPATH in the way of the standard library.
java: ## Find Java 17 or newer; as root on Debian or Ubuntu, install it if there is none
	@python="$$(sh scripts/python.sh)" && "$$python" -I src/watersmeet/java.py --install >/dev/null

# The newest version of Spark that Delta runs on is 4.2. Its tests have a session of their own, with jars that
# Spark takes in only when it starts.
DELTA := delta-spark>=4.4,<4.5

# The source distribution has no lab.
LAB := $(wildcard lab/pyproject.toml)

$(INSTALLED): pyproject.toml $(LAB)
	@sh scripts/venv.sh $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev]' $(if $(LAB),--editable lab) \
		$(if $(SPARK),'pyspark==$(SPARK).*') $(if $(filter 4.2,$(SPARK)),'$(DELTA)')
	@touch $@

$(WARM): $(INSTALLED) $(wildcard src/watersmeet/kernel/*.py)
	$(BIN)/python -m watersmeet.kernel.warmup
	@touch $@

demo: setup ## Run the demo
	@$(WITH_JAVA) $(BIN)/watersmeet demo $(ARGS)

test: setup ## Run the tests, less those of make soak and make test-kafka
	@$(WITH_JAVA) $(BIN)/python -m pytest -m "not soak and not kafka" $(ARGS)

soak: setup ## Run the tests that start, stop and kill whole applications
	@$(WITH_JAVA) $(BIN)/python -m pytest -m "soak and not kafka" $(ARGS)

# One process: the broker and the session are shared. 77 says that the jars cannot be fetched.
test-kafka: setup ## Run the tests that need a broker of Kafka, which is fetched and started
	@$(WITH_JAVA) code=0; PYTHONPATH=tests $(BIN)/python -m harness.kafka_jars || code=$$?; \
	if [ $$code = 0 ]; then KAFKA_RECORDS=$(RECORDS) $(BIN)/python -m pytest --numprocesses=0 -m kafka tests/kafka $(ARGS); \
	else [ $$code = 77 ]; fi

kafka: setup ## Start a broker of Kafka on 127.0.0.1:9092, to try things out; Ctrl-C ends it
	@$(WITH_JAVA) PYTHONPATH=tests $(BIN)/python -m harness.broker

# The server apart from our own packages; both stay in the environment, outside git.
test-s3: setup ## Run a join with its checkpoint on an S3 server on loopback; fetches it, needs mvn
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --target $(VENV)/s3-server 'moto[server]>=5.1,<6'
	mvn -q -B -f tests/s3/pom.xml dependency:copy-dependencies -DoutputDirectory="$(CURDIR)/$(VENV)/s3-jars"
	@$(WITH_JAVA) WATERSMEET_S3_SERVER="$(CURDIR)/$(VENV)/s3-server" WATERSMEET_S3_JARS="$(CURDIR)/$(VENV)/s3-jars" \
		$(BIN)/python -m pytest -n0 tests/s3 $(ARGS)

# Left out is what starts no Spark: kernels that are compared with oracles.
WITHOUT_SPARK := $(addprefix --ignore=tests/spark/test_,kinds.py result_ids.py slices.py trees.py)

test-ways: setup ## Run the tests that need Spark with rows and state going through Java, as on a cluster
	@$(WITH_JAVA) WATERSMEET_TEST_WAYS=long $(BIN)/python -m pytest -m "not soak and not kafka" tests/spark $(WITHOUT_SPARK) $(ARGS)

ifneq ($(SPARK),)
test-spark: setup ## Run the tests that need Spark with another version: make test-spark SPARK=4.2
	@$(WITH_JAVA) $(BIN)/python -m pytest -m "not soak and not kafka" tests/spark $(WITHOUT_SPARK) $(ARGS)
	$(if $(filter 4.2,$(SPARK)),@$(WITH_JAVA) PYTHONPATH=tests $(BIN)/python -m harness.delta && \
		$(BIN)/python -m pytest tests/delta $(DELTA_ARGS))
else
test-spark:
	@echo 'Say which version of Spark: make test-spark SPARK=4.2' >&2
	@exit 2
endif

lint: $(INSTALLED) ## Check formatting and lint rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

format: $(INSTALLED) ## Format the code and apply the safe lint fixes
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

types: $(INSTALLED) ## Check the types
	$(BIN)/mypy

check: lint types test test-ways soak test-kafka ## What the continuous integration checks, less test-spark SPARK=4.2

bench-keyed: setup ## Run the keyed benchmark
	@$(WITH_JAVA) $(BIN)/python -m watersmeet_lab.keyed $(ARGS)

# The shape that reads topics starts the broker of the tests.
bench-shapes: setup ## Run ordinary shapes of joins against chained Spark joins
	@$(WITH_JAVA) PYTHONPATH=tests $(BIN)/python -m watersmeet_lab.shapes $(ARGS)

# Flink has an environment of its own, whose jars are all that is used of it; the jars of its formats are of the
# same version.
FLINK := .venv-flink
FLINK_PACKAGE := apache-flink-libraries>=2.3,<2.4

$(FLINK)/.installed:
	@sh scripts/venv.sh $(FLINK)
	$(FLINK)/bin/python -m pip install --disable-pip-version-check --quiet '$(FLINK_PACKAGE)'
	@touch $@

# The other systems run without Flink. The row that reads topics starts the broker of the tests.
bench-peers: setup ## Run joins and Nexmark queries on Watersmeet, Spark, Flink and DuckDB; fetches Flink
	@$(MAKE) --no-print-directory $(FLINK)/.installed || echo 'Flink cannot be installed here.' >&2
	@$(WITH_JAVA) WATERSMEET_FLINK="$(CURDIR)/$(FLINK)" PYTHONPATH=tests $(BIN)/python -m watersmeet_lab.peers $(ARGS)

bench-latency: setup ## Measure how long batches of live streams take
	@$(WITH_JAVA) $(BIN)/python -m watersmeet_lab.latency $(ARGS)

bench-outer: setup ## Run the benchmark of outer joins: against the inner join, and chained Spark joins
	@$(WITH_JAVA) $(BIN)/python -m watersmeet_lab.outer $(ARGS)

bench-adaptive: setup ## Run the benchmark with rates that change: fixed orders against the adapting one
	@$(WITH_JAVA) $(BIN)/python -m watersmeet_lab.adaptive $(ARGS)

bench-skew: setup ## Run a join with a hot key on one core and on two
	@$(WITH_JAVA) $(BIN)/python -m watersmeet_lab.skew $(ARGS)

bench-planning: setup ## Time the planner, and compare its predictions with a run
	@$(WITH_JAVA) $(BIN)/python -m watersmeet_lab.planning $(ARGS)

bench-generic: setup ## Measure joins on a Python function: one core and two, and other ways to run them
	@$(WITH_JAVA) $(BIN)/python -m watersmeet_lab.generic $(ARGS)

bench-progressive: setup ## Measure joins of relations larger than memory: early results, and memory
	@$(WITH_JAVA) $(BIN)/python -m watersmeet_lab.progressive $(ARGS)

bench-sessions: setup ## Measure what sessions cost that lack some of the settings of wm.configure
	@$(WITH_JAVA) $(BIN)/python -m watersmeet_lab.sessions $(ARGS)

# As bench-peers, which is part of it.
report: setup ## Run every paper's experiments and every benchmark, and write docs/report/index.html
	@$(MAKE) --no-print-directory $(FLINK)/.installed || echo 'Flink cannot be installed here.' >&2
	@$(WITH_JAVA) WATERSMEET_FLINK="$(CURDIR)/$(FLINK)" PYTHONPATH=tests $(BIN)/python -m watersmeet_lab.report $(ARGS)

bench-sites: setup ## Measure what joins between sites send: semijoins, and plans per value
	@$(WITH_JAVA) $(BIN)/python -m watersmeet_lab.sites $(ARGS)

ifneq ($(BASE),)
bench-compare: setup ## Compare two commits by processor time per row: make bench-compare BASE=<commit>
	@$(WITH_JAVA) $(BIN)/python -m watersmeet_lab.compare "$(BASE)" $(ARGS)
else
bench-compare:
	@echo 'Say what to compare the files here with: make bench-compare BASE=<commit>' >&2
	@echo 'or another commit than the files here: make bench-compare BASE=<commit> ARGS="--new <commit>"' >&2
	@exit 2
endif

ifneq ($(DATA),)
real: setup ## Join real data in full, against DuckDB: make real DATA=<folder>
	@$(WITH_JAVA) $(BIN)/python -m watersmeet_lab.real "$(DATA)" $(ARGS)
else
real:
	@echo 'Say where the data is: make real DATA=<folder>' >&2
	@echo 'or, for some of the joins: make real DATA=<folder> ARGS="--only G2,F1 --batches 4"' >&2
	@echo 'It names the files that the folder should have and has not.' >&2
	@exit 2
endif

clean: ## Remove .venv, caches and compiled kernels
	rm -rf .venv .venv-spark-* $(FLINK) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	find src tests lab -name __pycache__ -type d -prune -exec rm -rf {} +
