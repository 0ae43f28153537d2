# Every target sets itself up: a fresh machine needs only Python 3.11 or newer with its headers, pip, make and g++.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup compiler core wheel sanitize test-levels demo serve browser postgres java test test-slow conformance test-spark check docs gallery bench paper lock clean

BIN := .venv/bin
JOBS ?= 2
LEVELS ?= all
LEVEL_TESTS ?= normal or dependent or weights
LOCK_FLAGS ?=
PYTHON ?= $(or $(shell for python in python3.11 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done), $(error Python 3.11 or newer is needed: make PYTHON=...))

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 12

setup: .venv/dev.stamp ## build .venv with all dependencies, those of the benchmarks included

compiler: ## install g++ and the headers of Python where that is allowed, or say what is missing
	@include=$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))'); \
	if command -v g++ >/dev/null && [ -f "$$include/Python.h" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else as=false; fi; \
	install="env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends g++ python3-dev"; \
	if command -v apt-get >/dev/null; then echo "installing g++ and the headers of Python"; \
		{ $$as $$install || { $$as apt-get update && $$as $$install; }; } >/dev/null 2>&1; fi; \
	if ! command -v g++ >/dev/null; then \
		echo "'g++' is missing: the core is compiled from C++20; install g++ 12 or newer"; exit 1; fi; \
	if [ ! -f "$$include/Python.h" ]; then \
		echo "'$$include/Python.h' is missing: install the headers of Python (Debian: python3-dev)"; exit 1; fi

core: compiler $(BIN)/cmake ## compile the core into src/efface/core (LEVELS=this for this CPU alone)
	@$(BIN)/cmake -S . -B build/core-$(LEVELS) -G Ninja -DEFFACE_LEVELS="$(LEVELS)" \
		-DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" \
		-DEFFACE_OUT="$(CURDIR)/src/efface/core" --log-level=WARNING
	@$(BIN)/cmake --build build/core-$(LEVELS) --parallel $(JOBS)

wheel: compiler $(BIN)/cmake ## build a wheel with all CPU levels into dist/
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

demo: LEVELS = this
demo: .venv/demo.stamp core ## replay a year of bicycle hires, forget some rows, write a report
	$(BIN)/efface replay src/efface/files/sample/bikeshare.csv --target bikers --time time \
		--features temp,hum,windspeed --one-hot slot --keep 30d --lower 0 \
		--forget src/efface/files/sample/requests.csv --compare --out demo --overwrite

serve: LEVELS = this
serve: .venv/demo.stamp core ## serve the dashboard with bicycle hires that arrive live
	$(BIN)/efface serve --demo

browser: ## install Chromium for the tests of web pages, where that is allowed
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
		if command -v $$name >/dev/null; then exit 0; fi; done; \
	if ! command -v apt-get >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else exit 0; fi; \
	install="apt-get install --yes --no-install-recommends chromium"; \
	echo "installing Chromium for the tests of web pages"; \
	{ $$as $$install || { $$as apt-get update && $$as $$install; }; } >/dev/null 2>&1 \
		|| echo "Chromium could not be installed: the tests that need it are skipped"

postgres: ## install PostgreSQL and xfsprogs for the tests of the store, where that is allowed
	@if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else exit 0; fi; \
	install="env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends postgresql xfsprogs"; \
	echo "installing PostgreSQL for the tests of the store"; \
	{ $$as $$install || { $$as apt-get update && $$as $$install; }; } >/dev/null 2>&1 \
		|| echo "PostgreSQL could not be installed: the tests that need it are skipped"

java: ## install Java for the tests of efface.spark, where that is allowed
	@if [ -n "$$JAVA_HOME" ] || command -v java >/dev/null; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else exit 0; fi; \
	install="apt-get install --yes --no-install-recommends default-jre-headless"; \
	echo "installing Java for the tests of efface.spark"; \
	{ $$as $$install || { $$as apt-get update && $$as $$install; }; } >/dev/null 2>&1 \
		|| echo "Java could not be installed: the tests that need it are skipped"

test: browser postgres .venv/test.stamp core ## run the tests and doctests
	$(BIN)/pytest -n $(JOBS)

test-slow: .venv/test.stamp core ## run the tests marked slow, a million states of the conformance suite included
	$(BIN)/pytest -n $(JOBS) -m slow

conformance: .venv/test.stamp core ## compare random states with exact answers (SEEDS=100:200 for other seeds)
	$(if $(SEEDS),EFFACE_SEEDS=$(SEEDS)) $(BIN)/pytest -n $(JOBS) tests/conformance

test-levels: .venv/test.stamp core ## run a part of the conformance suite on the other levels of this CPU
	for level in $$($(BIN)/python -c 'from efface.core import other_levels; print(*other_levels())'); do \
		EFFACE_LEVEL=$$level $(BIN)/pytest -n $(JOBS) tests/conformance -k "$(LEVEL_TESTS)" || exit 1; done

sanitize: .venv/test.stamp compiler ## run a part of the conformance suite under address and undefined behaviour sanitizers
	@$(BIN)/cmake -S . -B build/core-sanitize -G Ninja -DEFFACE_LEVELS=this -DEFFACE_SANITIZE=ON \
		-DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" \
		-DEFFACE_OUT="$(CURDIR)/build/sanitized/efface/core" --log-level=WARNING
	@$(BIN)/cmake --build build/core-sanitize --parallel $(JOBS)
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$$(g++ -print-file-name=libasan.so):$$(g++ -print-file-name=libubsan.so) \
		EFFACE_MODULES=build/sanitized/efface/core $(BIN)/pytest -n $(JOBS) tests/conformance \
		-k "($(LEVEL_TESTS)) and not store"

test-spark: java core .venv-spark/spark.stamp ## run the tests of efface.spark, in .venv-spark
	.venv-spark/bin/pytest src/efface/spark tests/spark

check: .venv/test.stamp core ## check style, formatting, types, import layers, warnings of the compiler
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/clang-format --dry-run --Werror cpp/*/*.hpp cpp/*/*.cpp

docs: .venv/docs.stamp core ## build the documentation into site/; a warning is an error
	$(BIN)/sphinx-build --fail-on-warning --keep-going --fresh-env --write-all --quiet \
		--conf-dir docs --doctree-dir build/docs . site
	@echo "site/index.html"

gallery: .venv/test.stamp core ## draw the figures of docs/gallery/ again
	for name in $(basename $(notdir $(wildcard examples/gallery/*.py))); do MPLBACKEND=agg \
		$(BIN)/python -W error examples/gallery/$$name.py docs/gallery/$$name.png \
		> docs/gallery/$$name.txt || exit 1; done

bench: java .venv/dev.stamp .venv-spark/spark.stamp core ## measure speed and accuracy of efface and of other packages
	$(BIN)/python -m benchmarks
	.venv-spark/bin/python -m benchmarks spark

paper: .venv/test.stamp core ## reproduce the paper's figures and findings (half an hour on two cores)
	$(BIN)/efface reproduce all --reading both --jobs $(JOBS) --out paper

lock: $(BIN)/pip ## refresh requirements/*.lock (LOCK_FLAGS=--upgrade for newer versions)
	$(BIN)/pip install --quiet uv
	$(COMPILE) --extra dev --output-file requirements/dev.lock
	$(COMPILE) --extra check --extra demo --extra test \
		--constraints requirements/dev.lock --output-file requirements/test.lock
	$(COMPILE) --extra demo --constraints requirements/dev.lock --output-file requirements/demo.lock
	$(COMPILE) --extra docs --constraints requirements/dev.lock --output-file requirements/docs.lock
	$(COMPILE) --extra spark-test --output-file requirements/spark.lock

COMPILE = $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 \
	--generate-hashes --no-annotate --custom-compile-command "make lock" $(LOCK_FLAGS) \
	pyproject.toml --group build

clean: ## remove .venv, caches and build products
	rm -rf .venv .venv-spark build dist site src/efface/core/*.so .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# demo.lock, docs.lock and test.lock are subsets of dev.lock with the same versions, so they share one .venv.
.venv/%.stamp: requirements/%.lock pyproject.toml | $(BIN)/pip
	$(BIN)/pip install --quiet --require-hashes --requirement $<
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

.venv-spark/spark.stamp: requirements/spark.lock pyproject.toml | .venv-spark/bin/pip
	.venv-spark/bin/pip install --quiet --require-hashes --requirement $<
	.venv-spark/bin/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

$(BIN)/cmake: | .venv/demo.stamp
	test -x $@ # cmake, ninja and nanobind are in every lock

# Debian ships venv without ensurepip: then the system's pip installs pip into .venv.
.venv/bin/pip .venv-spark/bin/pip: %/bin/pip:
	$(PYTHON) -m venv $* || $(PYTHON) -m pip --python $*/bin/python install --quiet pip
