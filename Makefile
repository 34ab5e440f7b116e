# `make help` lists what there is. Every target does its own set-up, and does nothing twice.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REPORTS := .build/reports
SBT := project/sbt
JARS := aqe_plugin/jars/.built
PRIMARY_JAR := aqe_plugin/jars/.primary
# The sbt project of the Spark line that is tested in full.
PRIMARY := spark41
# What the drivers of the Python tests map in place of Spark's jars.
CLASSES := .build/spark-classes.jsa
PYTEST := $(BIN)/python -m pytest -q
# Tests that need nothing but this process share two of them; those that start others already use both cores.
WORKERS := --numprocesses=2 --dist=loadfile

JVM_SOURCES := $(shell find scala/src/main project -name target -prune -o -type f \( -name '*.scala' -o -name '*.java' -o -name '*.sbt' -o -path '*/resources/*' \) -print) \
  build.sbt project/build.properties aqe_plugin/VERSION

# `make bench` and `make regret` parameters; ARGS takes further options
WORKLOAD ?= tpcds
ARGS ?=
SF ?= 1
QUERIES ?= all
CONFIGS ?= default,forced,plugin
RUNS ?= 3
WARM_UPS ?= 1

# The jars that workloads of Delta and Iceberg read their tables with, and the engine of Comet's contenders.
NEIGHBOURS := .build/neighbours/.copied
NEIGHBOURS_OF_BENCH := $(if $(filter %-delta %-iceberg,$(WORKLOAD))$(findstring comet,$(CONFIGS)),neighbour-jars)

# What `make bench-comet` runs five times: queries of which runtime filters win much of the time, or none.
COMET_QUERIES := q93,q50,q80,q25,q29,q40,q16,q94,q95,q64,q24a,q24b

# `make bench-daemon` and `make bench-logs` parameters; the log is that of `make demo`
LOG ?= .build/demo/events
LOGS ?=
GB ?= 2
APPS ?= 2000

# dbt 1.12 asks pip for a program from outside PyPI; PyHive speaks to Spark's Thrift Server.
DBT := dbt-core==1.11.16 dbt-spark==1.11.0 PyHive==0.7.0 future pure-sasl==0.6.2 python-dateutil thrift==0.25.0 thrift-sasl==0.4.3

# `make bench-jmh` parameter: a regular expression of benchmarks, and options of JMH
BENCHMARKS ?=

# The longest that `make test` gives to the tests of a language; `make test-all` takes hours
LANE_MINUTES ?= 70

# What `make test-lines` runs on the newest line, of which `make test` runs a smoke test alone.
ON_NEWEST := tests/ui tests/python/api tests/e2e/test_tpcds_answers.py

# The newest patch release of each line, from its PySpark package.
RELEASES := 4.0.5 4.1.4 4.2.1 4.3.0

# `make test-spark` parameters
SUITES ?= all
MODE ?= normal,open
LINE ?= 4.1

export PYTHONPATH := python
# The tests and the demo run Spark on this machine alone, whatever its network is called.
export SPARK_LOCAL_IP ?= 127.0.0.1

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/\1\t\2/' | while IFS=$$'\t' read -r name text; do printf '  make %-17s %s\n' "$$name" "$$text"; done

# What `make demo` runs; the tables that they read are made while the jar is compiled.
DEMO_QUERIES := q93,q50,q25,q29,q17
DEMO_SF := $(if $(filter command line,$(origin SF)),$(SF),3)

.PHONY: demo
demo: prerequisites ## the main job: TPC-DS queries under Spark, Spark's Bloom filter and the plugin, with every decision explained
	@echo "Set-up, nothing of it twice (logs in .build/setup):"
	@$(MAKE) --silent --jobs=3 $(VENV)/.demo $(PRIMARY_JAR) demo-data
	@$(BIN)/python -m benchmarks.demo --sf $(DEMO_SF) --queries $(DEMO_QUERIES)

.PHONY: demo-limit
demo-limit: prerequisites ## LIMIT, predicates across joins and range joins, each beside Spark alone, in two minutes once set up
	@$(MAKE) --silent --jobs=2 $(VENV)/.demo $(PRIMARY_JAR)
	@$(BIN)/python -m benchmarks.limit --files 300 --runs 1
	@$(BIN)/python -m benchmarks.predicates --rows 2000000 --runs 1

.PHONY: demo-data
demo-data: $(VENV)/.data
	@project/timed "TPC-DS tables at scale $(DEMO_SF)" .build/setup/data.log \
	  $(BIN)/python -m workloads.tpcds --sf $(DEMO_SF) --queries $(DEMO_QUERIES)

# A lane takes 20 minutes on two cores; without its bounds, one that hangs would not say where.
WITHIN = project/within $(LANE_MINUTES) $(REPORTS)/unfinished-$(1).txt

# One lane a language, side by side; each lane's output comes when it ends, and goes to .build/reports while it runs.
LANES := $(MAKE) --jobs=2 --output-sync=target

.PHONY: check
check: prerequisites venv ## while you work: lint, types and the unit tests of both languages, without a Spark session
	@mkdir -p $(REPORTS)
	@$(LANES) check-jvm check-python

.PHONY: check-jvm
check-jvm:
	$(SBT) lint units

.PHONY: check-python
check-python: lint-python
	$(PYTEST) -m unit $(WORKERS)

.PHONY: test
test: prerequisites ## what every change must pass: lint, the tests of both languages, the other Spark lines' smoke tests
	@mkdir -p $(REPORTS)
	@$(MAKE) --jobs=2 $(CLASSES) jar
	@echo "Follow it with: tail -f $(REPORTS)/jvm.log $(REPORTS)/python.log"
	@$(LANES) test-jvm test-python

.PHONY: test-jvm
test-jvm: prerequisites ## the Scala tests on the primary Spark line; the other lines are compiled and smoke-tested
	@mkdir -p $(REPORTS)
	$(call WITHIN,jvm) $(SBT) $(PRIMARY)/test smoke $(PRIMARY)/makePom lint 2>&1 | tee $(REPORTS)/jvm.log
	$(PYTEST) tests/build/on_pom.py
	@project/slowest 20 scala/target/*/test-reports

.PHONY: test-python
test-python: lint-python jar $(CLASSES) ## the Python tests: units, contracts, sessions, TPC-DS end to end
	@mkdir -p $(REPORTS)
	{ failed=0; \
	  $(call WITHIN,python-units) $(PYTEST) -m unit $(WORKERS) --junitxml=$(REPORTS)/python-units.xml || failed=1; \
	  $(call WITHIN,python) $(PYTEST) -m "not unit" --durations=20 --junitxml=$(REPORTS)/python.xml || failed=1; \
	  exit $$failed; } 2>&1 | tee $(REPORTS)/python.log

.PHONY: test-all
test-all: lint jar neighbour-jars ## every case on the primary Spark line, the other lines' whole suites with a sample, some of Spark's own suites
	AQE_PLUGIN_TESTS=all $(SBT) $(PRIMARY)/test
	env -u AQE_PLUGIN_TESTS $(SBT) otherLines
	AQE_PLUGIN_TESTS=all $(MAKE) test-python test-spark-quick LANE_MINUTES=600

.PHONY: test-comet
test-comet: prerequisites ## the truth table of joins and all random queries, carried out by Apache DataFusion Comet
	$(SBT) $(PRIMARY)/Test/compile $(PRIMARY)/testArguments
	AQE_PLUGIN_TESTS=all SPARK_LOCAL_IP=127.0.0.1 java @.build/$(PRIMARY)-tests.args org.scalatest.tools.Runner -oW -R scala/target/4.1/scala-2.13/test-classes -s io.aqeplugin.e2e.CometJoinMatrixSuite -s io.aqeplugin.e2e.CometRandomQueriesSuite

# At scale 1 a broadcast of q10 takes pages of 256 MB, for which Spark alone does not always find room in 3 GB.
.PHONY: test-lines
test-lines: prerequisites venv jar ## the other Spark lines' whole suites, and the newest patch releases from their PySpark packages
	$(SBT) otherLines
	$(PYTEST) tests/e2e/on_packages.py
	project/with-pyspark 4.3.0 $(PYTEST) $(ON_NEWEST)
	for release in $(RELEASES); do AQE_PLUGIN_E2E_SCALE=1 AQE_PLUGIN_DRIVER_MEMORY=6g project/with-pyspark $$release $(PYTEST) tests/e2e/on_predictions.py || exit 1; done

.PHONY: lint
lint: lint-jvm lint-python ## formats, style rules, types and who-may-import-whom of both languages

.PHONY: lint-jvm
lint-jvm: prerequisites
	$(SBT) lint

.PHONY: lint-python
lint-python: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: prerequisites venv ## rewrite both languages' files the way lint wants them
	$(SBT) format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: test-spark
test-spark: prerequisites ## Spark's own test suites with the plugin on: make test-spark SUITES=JoinSuite MODE=plain,normal,open LINE=4.0
	$(PYTHON) -m tests.spark.run --suites $(SUITES) --mode $(MODE) --line $(LINE)

.PHONY: test-spark-quick
test-spark-quick: prerequisites ## the smallest of them, with every gate open
	$(PYTHON) -m tests.spark.run --quick

.PHONY: test-hdfs
test-hdfs: venv ## event logs in a real HDFS of one machine, whose servers come from Maven Central
	AQE_PLUGIN_REQUIRE_PROGRAMS=minicluster $(BIN)/python -m pytest -q tests/hadoop/on_hdfs.py

.PHONY: test-yarn
test-yarn: venv $(PRIMARY_JAR) ## jobs with the plugin on a real YARN of one machine, in client and cluster mode
	mvn --batch-mode --quiet -f project/yarn.pom.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/.build/yarn
	AQE_PLUGIN_REQUIRE_PROGRAMS=minicluster SPARK_LOCAL_IP=127.0.0.1 $(BIN)/python -m pytest -q tests/hadoop/on_yarn.py

.build/dbt/venv/bin/dbt:
	$(PYTHON) -m venv .build/dbt/venv
	.build/dbt/venv/bin/pip install --quiet $(DBT)

.PHONY: test-dbt
test-dbt: venv $(PRIMARY_JAR) .build/dbt/venv/bin/dbt ## a project of dbt in a session of its own and over Spark's Thrift Server
	.build/dbt/venv/bin/pip freeze | grep '^dbt-\(core\|spark\)='
	SPARK_LOCAL_IP=127.0.0.1 $(BIN)/python -m pytest -q tests/dbt/on_dbt.py

# PySpark 4.1 does not import its pandas half beside pandas 3.
.build/pyspark-client/venv/bin/python: | $(VENV)/.installed
	$(PYTHON) -m venv .build/pyspark-client/venv
	$@ -m pip install --quiet 'pandas<3' "pyspark-client==$$($(BIN)/python -c 'import pyspark; print(pyspark.__version__)')"

.PHONY: neighbours
neighbours: venv $(PRIMARY_JAR) neighbour-jars .build/dbt/venv/bin/dbt .build/pyspark-client/venv/bin/python ## small applications beside each engine, table format, client and feature that we know; writes the table of docs/works-with.md
	@mkdir -p $(REPORTS)
	failed=0; $(PYTEST) tests/neighbours/on_neighbours.py tests/dbt/on_dbt.py -o junit_family=xunit1 --junitxml=$(REPORTS)/neighbours.xml || failed=1; \
	  $(BIN)/python -m tests.neighbours.page $(REPORTS)/neighbours.xml; exit $$failed

.PHONY: test-s3a
test-s3a: venv ## event logs behind s3a://, with Hadoop's client from Maven Central and a server that speaks S3
	mvn --batch-mode --quiet -f project/s3a.pom.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/.build/s3a/jars
	[[ -x .build/s3a/venv/bin/moto_server ]] || { $(PYTHON) -m venv .build/s3a/venv && .build/s3a/venv/bin/pip install --quiet 'moto[s3,server]==5.2.5'; }
	$(BIN)/python -m pytest -q tests/hadoop/on_s3a.py

.PHONY: test-crds
test-crds: venv ## the operators' manifests against the whole CRDs in the files CRDS="FILE FILE", of both operators
	CRDS="$(CRDS)" $(BIN)/python -m pytest -q tests/deploy/on_crds.py

.PHONY: test-long-line
test-long-line: venv ## a line of two gigabytes in an event log, read by the daemon in bounded memory
	AQE_PLUGIN_LINE_BYTES=2147483648 $(BIN)/python -m pytest -q tests/python/exporter/test_bad_input.py -k endless_line

.PHONY: check-line
check-line: venv jar ## what of the plugin would fail on a Spark: make check-line SPARK=folder of it, or of its jars
	@SPARK_HOME="$(SPARK)" $(BIN)/python -m aqe_plugin check

.PHONY: jar
jar: $(JARS) ## the plugin's jar for every Spark line, into aqe_plugin/jars/

$(JARS): $(JVM_SOURCES) | prerequisites
	$(SBT) jars
	@touch $@ $(PRIMARY_JAR)

$(PRIMARY_JAR): $(JVM_SOURCES)
	@project/timed "the plugin's jar" .build/setup/jar.log $(SBT) primaryJar
	@touch $@

.PHONY: wheel
wheel: prerequisites $(VENV)/.wheel jar ## the Python wheel, which carries the jars, into dist/
	@project/timed "the wheel" .build/setup/wheel.log $(BIN)/python -m build --wheel --outdir dist
	@echo "Next: pip install \"$$(ls -t dist/aqe_plugin-*.whl | head -1)[spark,metrics]\" 'pyspark==4.1.*', with the version of your cluster."

.PHONY: dist
dist: venv jar ## what a release publishes, into dist/: wheel, sdist, a Maven repository, bill of materials, checksums; the same bytes from the same commit
	rm -rf dist
	$(SBT) dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m publishing dist

.PHONY: test-dist
test-dist: dist ## dist/ made twice has the same bytes, and a plain Spark takes the plugin from it by --packages
	cp dist/SHA256SUMS .build/SHA256SUMS.first
	rm -rf scala/target $(JARS)
	$(MAKE) dist
	diff .build/SHA256SUMS.first dist/SHA256SUMS
	$(BIN)/python -m pytest -q tests/deploy/on_dist.py

.PHONY: neighbour-jars
neighbour-jars: $(NEIGHBOURS) ## the jars of Delta, Iceberg and Comet, for the workloads and contenders that need them

$(NEIGHBOURS): build.sbt
	$(SBT) $(PRIMARY)/neighbourJars
	touch $@

.PHONY: bench
bench: venv jar $(NEIGHBOURS_OF_BENCH) ## side-by-side timings: make bench WORKLOAD=tpcds SF=10 QUERIES=q93,q50 CONFIGS=default,forced,plugin RUNS=3
	$(BIN)/python -m benchmarks --workload $(WORKLOAD) --sf $(SF) --queries $(QUERIES) --configs $(CONFIGS) --runs $(RUNS) --warm-ups $(WARM_UPS) $(ARGS)

.PHONY: bench-comet
bench-comet: venv jar neighbour-jars ## twelve queries beside Apache DataFusion Comet, five runs: make bench-comet SF=10
	$(BIN)/python -m benchmarks --sf $(SF) --queries $(COMET_QUERIES) --runs 5 --driver-memory 5g \
	  --configs default,forced,comet,comet-forced,plugin,comet-plugin --out .build/bench/comet $(ARGS)

.PHONY: bench-comet-all
bench-comet-all: venv jar neighbour-jars ## all queries once beside Spark and Comet; a second call goes on where the first was stopped
	$(BIN)/python -m benchmarks --sf $(SF) --runs 1 --warm-ups 0 --driver-memory 5g \
	  --configs default,comet,comet-plugin --out .build/bench/comet-all $(ARGS)

.PHONY: regret
regret: venv jar $(NEIGHBOURS_OF_BENCH) ## each join's options in turn, beside the plugin's choice: make regret WORKLOAD=skew SF=1 QUERIES=all ARGS="--minutes 30"
	$(BIN)/python -m benchmarks.regret --workload $(WORKLOAD) --sf $(SF) --queries $(QUERIES) $(ARGS)

.PHONY: removals
removals: prerequisites ## takes out one rule or one case of a list at a time and expects a test to fail: make removals ONLY=Exec
	@project/removals $(ONLY)

.PHONY: tour
tour: venv jar ## a new user's tour, from an empty conf folder and back to it
	$(BIN)/python -m tests.tour

.PHONY: panels
panels: venv ## the panels to watch, from a real Prometheus over the event log of eight queries, drawn into docs/images/
	$(BIN)/python -m tests.tour.worth docs/images/worth.svg

.PHONY: bench-limit
bench-limit: venv jar ## LIMIT and ORDER BY ... LIMIT over 2,000 files, beside Spark alone
	$(BIN)/python -m benchmarks.limit

.PHONY: bench-predicates
bench-predicates: venv jar ## predicates across joins and range joins, beside Spark alone
	$(BIN)/python -m benchmarks.predicates

.PHONY: bench-keys
bench-keys: venv jar ## joins by computed keys and by several columns, beside Spark alone and Spark's forced Bloom filter
	$(BIN)/python -m benchmarks.keys

.PHONY: bench-files
bench-files: venv jar neighbour-jars ## rows of files that keys leave unread, in Parquet, ORC, Delta, Iceberg and cached tables
	$(BIN)/python -m benchmarks.files $(ARGS)

.PHONY: bench-ranges
bench-ranges: venv jar neighbour-jars ## files of 1 kB rows that ranges of keys leave unread, beside an oracle, and what keys in every file cost
	$(BIN)/python -m benchmarks.file_ranges $(ARGS)

.PHONY: bench-overhead
bench-overhead: venv jar ## what the plugin costs where it can win little: short, first and planned queries: make bench-overhead ARGS="--parts small"
	$(BIN)/python -m benchmarks.overhead $(ARGS)

.PHONY: bench-merge
bench-merge: venv jar neighbour-jars ## MERGE whose keys are in 1 % of the target's files, Delta and Iceberg: make bench-merge ARGS="--rows 10000000 --files 200"
	$(BIN)/python -m benchmarks.merge $(ARGS)

.PHONY: bench-clients
bench-clients: venv jar ## several clients at once, all with the plugin, all without, and both in one queue: make bench-clients ARGS="--sf 3"
	$(BIN)/python -m benchmarks.clients $(ARGS)

.PHONY: bench-sketch
bench-sketch: venv jar ## what sketching the keys of a build side costs, with few, many and long keys
	$(BIN)/python -m benchmarks.sketch

.PHONY: bench-rollouts
bench-rollouts: venv ## how often simulated rollouts are wrong, and how soon they are right
	$(BIN)/python -m benchmarks.rollouts --plot docs/images/rollout-characteristics.svg

.PHONY: bench-daemon
bench-daemon: venv ## speed and memory of aqe-plugin run over many logs made from one: make bench-daemon LOG=.build/demo/events GB=10 APPS=10000
	$(BIN)/python -m benchmarks.daemon --log $(LOG) --gigabytes $(GB) --applications $(APPS)
	$(BIN)/python -m benchmarks.daemon --log $(LOG) --gigabytes $(GB) --applications $(APPS) --zstd
	$(BIN)/python -m benchmarks.daemon --log $(LOG) --gigabytes 0.5 --applications 50 --own-events

.PHONY: bench-logs
bench-logs: venv jar ## event logs into tables, beside a plain reader: make bench-logs LOGS=path/to/eventlog_v2_... GB=10
	$(BIN)/python -m benchmarks.pipeline --logs "$(LOGS)" --gigabytes $(GB)

# The generator reads classes, which a first step has to compile.
.PHONY: bench-jmh
bench-jmh: prerequisites ## nanoseconds of one filter's checks or one sketch's rows, by JMH: make bench-jmh BENCHMARKS=RetainBenchmark
	$(SBT) $(PRIMARY)/Jmh/compile "$(PRIMARY)/Jmh/run -f1 -wi 2 -w 1 -i 3 -r 2 $(BENCHMARKS)"

.PHONY: venv
venv: $(VENV)/.installed

# What .installed holds, .demo holds and .data holds, so that each is enough for what needs less.
# The image's pins too: a test compares what each of its packages asks for with the rest.
PINS := python/constraints.txt deploy/docker/requirements.txt
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check $(PINS:%=--constraint %)

$(BIN)/python:
	@project/prerequisites python java
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml $(PINS) | $(BIN)/python
	@echo "Installing the Python half with its test and demo packages into $(VENV) (a few minutes the first time) ..."
	$(INSTALL) --editable '.[dev,demo,spark]'
	@touch $(VENV)/.data $(VENV)/.demo $(VENV)/.wheel $@

$(CLASSES): tests/class_archive.py $(VENV)/.installed
	@project/timed "an archive of Spark's classes" .build/setup/classes.log $(BIN)/python -m tests.class_archive $@

$(VENV)/.demo: pyproject.toml $(PINS) $(VENV)/.data
	@project/timed "PySpark and what else the demo needs" .build/setup/packages.log $(INSTALL) --editable '.[demo,spark]'
	@touch $@

$(VENV)/.data: pyproject.toml $(PINS) | $(BIN)/python
	@project/timed "DuckDB, which makes the data" .build/setup/duckdb.log $(INSTALL) duckdb duckdb-extension-tpcds
	@touch $@

$(VENV)/.wheel: pyproject.toml $(PINS) | $(BIN)/python
	@project/timed "what builds a wheel" .build/setup/build.log $(INSTALL) build
	@touch $@

$(VENV)/.site: pyproject.toml $(PINS) | $(BIN)/python
	@project/timed "what builds the site" .build/setup/site.log $(INSTALL) --editable '.[site]'
	@touch $@

$(VENV)/.notebook: pyproject.toml $(PINS) $(VENV)/.installed
	@project/timed "a Jupyter kernel" .build/setup/notebook.log $(INSTALL) --editable '.[notebook]'
	@touch $@

.PHONY: prerequisites
prerequisites:
	@project/prerequisites

.PHONY: docs
docs: prerequisites venv ## rewrite the documentation, tables and dashboards that are generated from the code
	$(SBT) "spark41/Test/runMain io.aqeplugin.docs.GeneratedFiles ."
	$(BIN)/python -m monitoring .

.PHONY: site
site: $(VENV)/.site ## the documentation as a site that needs no server and no network, into .build/site; a link that leads nowhere fails it
	@rm -rf .build/site .build/site-doctrees
	mermaid="$$(project/mermaid)" && $(BIN)/python -m site_pages "$$mermaid" .build/site-pages
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c python/site_pages -d .build/site-doctrees .build/site-pages .build/site
	@echo "Open .build/site/index.html in a browser."

.PHONY: test-site
test-site: venv site ## the site in a real browser, as wide as a desk's screen and as a phone's
	$(PYTEST) tests/site/on_site.py

.PHONY: test-notebook
test-notebook: $(VENV)/.notebook $(PRIMARY_JAR) ## aqe.analyze in a real Jupyter kernel, and the notebook in a real browser
	$(PYTEST) tests/ui/on_notebook.py

.PHONY: clean
clean: ## remove everything that was built; the TPC-DS data in .build/tpcds stays
	rm -rf $(VENV) aqe_plugin/jars dist scala/target scala/target-* target project/target project/project/target *.egg-info
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache spark-warehouse metastore_db
	find .build -mindepth 1 -maxdepth 1 -not -name tpcds -exec rm -rf {} + 2> /dev/null || true
