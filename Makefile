.DEFAULT_GOAL := help
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help
help: ## Show what can be made
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F '\t' '{printf "  %-14s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@# setuptools builds NetLSD, which comes as source only
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt cmake nanobind ninja scikit-build-core setuptools
	@rm -f $(READY) && touch $@

# The C++ core is compiled in build/, where only what has changed is compiled again.
READY := $(VENV)/.built
$(READY): $(STAMP) CMakeLists.txt $(wildcard src/retgk/_core/*) | compiler
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	@touch $@

.PHONY: compiler
compiler: ## Install a C++ compiler, if there is none and that is allowed
	@command -v $(or $(CXX),c++) >/dev/null || command -v clang++ >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
	       && apt-get install -y -qq --no-install-recommends g++; } \
	  || { echo "NO C++ COMPILER: install one that knows C++17 (apt-get install g++, or xcode-select --install)"; exit 1; }

.PHONY: install
install: $(READY) ## Set up the environment in .venv

# The demo asks for less than the tests do; where these are set up, so is it.
$(VENV)/.demo: $(STAMP) CMakeLists.txt $(wildcard src/retgk/_core/*) | compiler
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[plot]'
	@touch $@

.PHONY: demo
demo: $(if $(wildcard $(READY)),$(READY),$(VENV)/.demo) ## Set up, and run the main job on data that needs no download
	$(BIN)/python examples/demo.py

# Tests of pages drive the Chromium of the system; it is installed where this user may do that.
.PHONY: browser
browser: ## Install Chromium for the tests of pages, if it is missing and that is allowed
	@command -v chromium || command -v chromium-browser || command -v google-chrome \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
	       && apt-get install -y -qq --no-install-recommends chromium; } \
	  || echo "NO CHROMIUM: tests of pages will be SKIPPED; install it (apt-get install chromium)"

.PHONY: explorer
explorer: ## Build the page of retgk explore from explorer/src (needs Node.js; the built file is kept)
	cd explorer && npm ci --ignore-scripts --no-audit --no-fund && npm run build

.PHONY: test
test: lint types ## Set up, and run lint, types and the first tier of tests
	$(BIN)/python -m pytest --numprocesses auto -m "not slow"

.PHONY: test-slow
test-slow: $(READY) browser ## Run the second tier: what starts processes, browsers or clusters, and the documentation
	$(BIN)/python -m pytest --numprocesses auto -m slow

.PHONY: test-all
test-all: test test-slow ## Run both tiers

# Tests that changed since the last commit, and those that import a module that did.
CHANGED = $(shell git diff --name-only HEAD; git ls-files --others --exclude-standard)
MODULES = $(subst /,.,$(patsubst src/%.py,%,$(filter src/%.py,$(CHANGED))))
TOUCHED = $(filter $(wildcard tests/test_*.py),$(CHANGED)) $(if $(MODULES),$(shell grep -lwF $(addprefix -e ,$(MODULES)) tests/test_*.py))
.PHONY: check
check: lint types ## In a minute: lint, types, architecture, and the first tier of what changed
	$(BIN)/python -m pytest --numprocesses auto -m "not slow" $(sort tests/test_architecture.py $(TOUCHED))

# The lowest versions that pyproject.toml allows, in an environment of their own (Python 3.11).
LOWEST := .venv-lowest
$(LOWEST)/.installed: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --constraint constraints-lowest.txt --editable '.[dask,igraph,index,networkx,parquet,plot,rdkit]' hypothesis pandas pytest pytest-xdist
	$(LOWEST)/bin/python -m pip check
	@touch $@

.PHONY: test-lowest
test-lowest: $(LOWEST)/.installed ## Run all tests with the lowest versions that are allowed; PYTHON=python3.11
	@echo "without GraKeL and NetLSD, whose tests are skipped: they ask for other versions"
	$(LOWEST)/bin/python -m pytest --numprocesses auto

# The core with sanitizers, in an environment of its own: what it reads and writes, what is undefined, and races of threads.
# The sanitizer is loaded before Python, which is built without; Python's own leaks are no concern of ours.
SANITIZED := .venv-sanitized
SANITIZED_TESTS ?= tests/test_walks.py tests/test_monte_carlo.py tests/test_exact_kernel.py tests/test_core.py tests/test_embedding.py tests/test_others_pairs.py
SANITIZED_PYTHON = LD_PRELOAD="$$($(or $(CXX),c++) -print-file-name=$(1)) $$($(or $(CXX),c++) -print-file-name=libstdc++.so)" $(SANITIZED)/bin/python
.PHONY: test-sanitized
test-sanitized: $(READY) ## Run numerical tests with AddressSanitizer and UndefinedBehaviorSanitizer, then threads with ThreadSanitizer
	test -d $(SANITIZED) || $(PYTHON) -m venv $(SANITIZED)
	$(SANITIZED)/bin/python -m pip install --quiet --constraint constraints.txt cmake nanobind ninja scikit-build-core
	$(SANITIZED)/bin/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --config-settings=build-dir=build/sanitized --config-settings=cmake.define.RETGK_SANITIZE=address,undefined --editable '.[dask,networkx,parquet]' hypothesis pandas pytest pytest-xdist
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 $(call SANITIZED_PYTHON,libasan.so) -m pytest --numprocesses auto -p no:cacheprovider $(SANITIZED_TESTS)
	$(SANITIZED)/bin/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --no-deps --config-settings=build-dir=build/threads --config-settings=cmake.define.RETGK_SANITIZE=thread --editable .
	TSAN_OPTIONS=halt_on_error=1:report_signal_unsafe=0:ignore_noninstrumented_modules=1 $(call SANITIZED_PYTHON,libtsan.so) -m tests.thread_checks

# What users may have set; programs that the tests start have it too. Settings that do not touch each other share a run.
# test_cli_program.py starts programs in plain ASCII by itself.
MODE_TESTS = $(BIN)/python -m pytest --numprocesses auto
.PHONY: test-modes
test-modes: $(READY) ## Run all tests in development mode with warnings as errors, then optimised in the C locale without a home
	PYTHONDEVMODE=1 PYTHONWARNINGS=error $(MODE_TESTS)
	@# a folder below a file cannot be made or written to, not even by root
	PYTHONOPTIMIZE=1 LC_ALL=C HOME=$(CURDIR)/Makefile/home $(MODE_TESTS) -W ignore::pytest.PytestConfigWarning

# Inputs depend on SEED alone; failing ones are shown with their numbers and kept in fuzz-failures.
SECONDS ?= 1800
SEED ?= 0
.PHONY: fuzz
fuzz: $(READY) ## Read mutated files of every format for SECONDS=1800, with SEED=0
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED) --keep fuzz-failures

.PHONY: fuzz-coverage
fuzz-coverage: $(READY) ## The same guided by coverage, where atheris has a wheel (SECONDS=1800)
	$(BIN)/python -m pip install --quiet atheris
	$(BIN)/python -m tests.fuzz.coverage_guided --seconds $(SECONDS) --keep fuzz-failures

.PHONY: lint
lint: $(READY) ## Check style; the C++ core compiles without a warning
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(wildcard src/retgk/_core/*.?pp)
	$(BIN)/cmake -S . -B build/lint -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DRETGK_WERROR=ON > build/lint.txt || { cat build/lint.txt; exit 1; }
	$(BIN)/cmake --build build/lint > build/lint.txt || { cat build/lint.txt; exit 1; }

.PHONY: tidy
tidy: lint ## Check the C++ core with clang-tidy and with Clang's own warnings (needs clang and clang-tidy)
	clang-tidy --quiet -p build/lint $(wildcard src/retgk/_core/*.cpp)
	CXX=clang++ $(BIN)/cmake -S . -B build/clang -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DRETGK_WERROR=ON
	$(BIN)/cmake --build build/clang

.PHONY: types
types: $(READY) ## Check types
	$(BIN)/mypy

.PHONY: format
format: $(READY) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(wildcard src/retgk/_core/*.?pp)

# Benchmarks need the benchmark sets: make bench-rpf DATA=folder
DATA ?= $(RETGK_TEST_DATA)
SLASHDOT ?= $(DATA)/../graphs/soc-Slashdot0902-undirected.txt.gz
MOLECULES ?= $(DATA)/../molecules
SMILES ?= $(MOLECULES)/moses_train.csv.gz

.PHONY: bench-rpf
bench-rpf: $(READY) ## Measure return probabilities (DATA=folder of the sets)
	$(BIN)/python -m benchmarks.bench_rpf $(DATA)
	$(BIN)/python -m benchmarks.bench_walks $(DATA) $(SLASHDOT)
	$(BIN)/python -m benchmarks.report

.PHONY: bench-retgk1
bench-retgk1: $(READY) ## Measure the exact kernel (DATA=folder of the sets)
	$(BIN)/python -m benchmarks.bench_retgk1 $(DATA)
	$(BIN)/python -m benchmarks.report

.PHONY: bench-retgk2
bench-retgk2: $(READY) ## Measure the embedding (DATA=folder of the sets, SMILES=file.csv.gz)
	$(BIN)/python -m benchmarks.bench_retgk2 $(DATA)
	$(BIN)/python -m benchmarks.bench_joint $(DATA)
	$(BIN)/python -m benchmarks.bench_scaling $(SMILES)
	$(BIN)/python -m benchmarks.figure_retgk2 docs/time-against-accuracy.png
	$(BIN)/python -m benchmarks.report

.PHONY: bench-large
bench-large: $(READY) ## Measure a million molecules to saved vectors, and one graph of 10^7 edges (SMILES=, SLASHDOT=)
	$(BIN)/python -m benchmarks.bench_stream $(SMILES)
	$(BIN)/python -m benchmarks.bench_large_graph $(SLASHDOT)
	$(BIN)/python -m benchmarks.report

.PHONY: bench-molecules
bench-molecules: $(READY) ## Measure molecules beside Morgan fragments (MOLECULES=folder of tables)
	$(BIN)/python -m benchmarks.bench_molecules $(MOLECULES)
	$(BIN)/python -m benchmarks.report

.PHONY: bench-index
bench-index: $(READY) ## Measure an index of all molecules of a file (SMILES=file.csv.gz)
	for step in build search add meaning columns; do \
	  $(BIN)/python -m benchmarks.bench_index $$step $(SMILES) --folder bench-index || exit 1; done

.PHONY: bench-explanations
bench-explanations: $(READY) ## Measure explanations (DATA=folder of the sets, MOLECULES=folder of tables)
	$(BIN)/python -m benchmarks.bench_explanations $(DATA) $(MOLECULES)
	$(BIN)/python -m benchmarks.report

.PHONY: bench-explorer
bench-explorer: $(READY) browser ## Measure pages of retgk explore (DATA=folder of the sets, MOLECULES=folder of tables)
	$(BIN)/python -m benchmarks.bench_explorer $(DATA) $(MOLECULES)
	$(BIN)/python -m benchmarks.report

# PEERS is an interpreter that has hyppo and graspologic, which ask for other versions than ours.
PEERS ?=
.PHONY: bench-populations
bench-populations: $(READY) ## Measure tests of populations (DATA=folder of the sets, PEERS=python with hyppo, graspologic)
	$(BIN)/python -m benchmarks.bench_population_tests $(DATA) $(if $(PEERS),--peers $(PEERS))

.PHONY: bench-peers
bench-peers: $(READY) ## Measure kernels of other authors beside GraKeL's (DATA=folder of the sets)
	$(BIN)/python -m benchmarks.bench_peers $(DATA)
	$(BIN)/python -m benchmarks.report

.PHONY: bench-classifier
bench-classifier: $(READY) ## Measure GraphClassifier() as it comes (DATA=folder of the sets)
	$(BIN)/python -m benchmarks.bench_classifier $(DATA)
	$(BIN)/python -m benchmarks.report

# Hours from nothing; it goes on from the stored records, and after a kill.
SPLITS ?= $(DATA)/../splits
MNIST ?= $(DATA)/../mnist
PAPER_RUN = $(BIN)/python -m reproduction run --data $(DATA) --mnist $(MNIST) --records paper-records.jsonl
.PHONY: paper
paper: $(READY) ## Compute the paper's tables and figures, and report (DATA=folder of the sets, SPLITS=folder of folds, MNIST=folder of images)
	test -e paper-records.jsonl || gunzip -c docs/paper/records.jsonl.gz > paper-records.jsonl
	$(PAPER_RUN) --protocol time --repetitions 1
	$(PAPER_RUN) --limit-seconds 3600 --repetitions 3
	$(PAPER_RUN) --limit-seconds 3600
	$(PAPER_RUN) --variations --repetitions 3
	$(PAPER_RUN) --protocol nested --table 1,2,3,4 --repetitions 3
	$(PAPER_RUN) --protocol fair --splits $(SPLITS) --limit-seconds 300
	$(PAPER_RUN) --deduplicate --table 1 --dataset IMDB-BINARY,IMDB-MULTI,COLLAB --method RetGK_I,RetGK_II --repetitions 3
	$(PAPER_RUN) --deduplicate --table 2 --method RetGK_I,RetGK_II --repetitions 3
	$(BIN)/python -m benchmarks.bench_paper $(DATA) --mnist $(MNIST)
	$(MAKE) paper-report

.PHONY: paper-report
paper-report: $(READY) ## Make docs/paper from paper-records.jsonl
	$(BIN)/python -m reproduction report --records paper-records.jsonl --output docs/paper $(addprefix --baseline ,$(wildcard benchmarks/records/paper.jsonl))
	gzip -c -n paper-records.jsonl > docs/paper/records.tmp
	mv docs/paper/records.tmp docs/paper/records.jsonl.gz
	$(BIN)/python -m benchmarks.report

.PHONY: gallery
gallery: $(READY) ## Draw the pictures of docs/gallery.md
	$(BIN)/python -m examples.gallery

.PHONY: bench-reading
bench-reading: $(READY) ## Measure readers, converters and the import (DATA=folder of the sets)
	$(BIN)/python -m benchmarks.bench_reading $(DATA)
	$(BIN)/python -m benchmarks.bench_converters
	$(BIN)/python -m benchmarks.bench_import

.PHONY: bench-cluster
bench-cluster: $(READY) ## Measure work on dask workers, and kill some (DATA=folder of the sets)
	$(BIN)/python -m benchmarks.bench_cluster $(DATA)

.PHONY: numbers
numbers: $(READY) ## How large the house is, and its ceilings (DATA=folder of the sets: what a fit enters)
	$(BIN)/python -m benchmarks.house_numbers $(DATA)

# The site: docs/_build/html/index.html. Recipes are executed; warnings are errors; no network.
$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@

.PHONY: docs
docs: $(VENV)/.docs ## Build the documentation into docs/_build/html, with its recipes executed
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --quiet --builder html docs docs/_build/html

# Wheel and source distribution, and both as others would meet them: in environments of their own.
$(VENV)/.release: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[release]'
	@touch $@

.PHONY: dist
dist: $(VENV)/.release ## Build wheel and sdist into dist, and check them
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

.PHONY: test-wheel
test-wheel: dist ## Install the wheel in a clean environment; the program and the README's example must run
	rm -rf .venv-wheel && $(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --constraint constraints.txt dist/*.whl
	cd .venv-wheel && bin/retgk --version && bin/retgk --help > help.txt
	sed 's/^```.*//' README.md > .venv-wheel/readme.txt
	cd .venv-wheel && bin/python -m doctest readme.txt && echo "the README's example gives what it says"

.PHONY: test-sdist
test-sdist: dist ## Run all tests from the unpacked sdist, in a clean environment (TESTS=some of them)
	rm -rf .venv-sdist && $(PYTHON) -m venv .venv-sdist
	mkdir .venv-sdist/source && tar -xzf dist/*.tar.gz -C .venv-sdist/source --strip-components 1
	.venv-sdist/bin/python -m pip install --quiet --constraint constraints.txt --editable '.venv-sdist/source[dev]'
	cd .venv-sdist/source && ../bin/python -m pytest --numprocesses auto $(TESTS)

.PHONY: constraints
constraints: $(READY) ## Write the installed versions to constraints.txt
	$(BIN)/python -m pip freeze --exclude-editable --quiet | sed -E 's/ @ .*//; s/\+cpu$$//' > constraints.tmp
	mv constraints.tmp constraints.txt

.PHONY: clean
clean: ## Remove the environment and everything made
	rm -rf $(VENV) $(LOWEST) $(SANITIZED) build .venv-sdist .venv-wheel demo-output paper-records.jsonl* dist fuzz-failures
	rm -rf docs/_build docs/_drawings docs/recipes docs/reference/generated docs/reference/*.rst docs/command_line.md
	rm -rf explorer/node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis

.PHONY: kills
kills: $(READY) ## Kill the program 200 times while it writes, and look at what it leaves
	$(BIN)/python -m benchmarks.kill_campaign

.PHONY: sentences
sentences: $(READY) ## Write tests/sentences.txt, which shows all errors and warnings to a reader
	$(BIN)/python -m tests.errors
