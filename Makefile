# make lab      opens the course in JupyterLab      make test      checks everything, quickly
# make test-all adds what is slow                   make help      lists the rest
# Each target first makes .venv if it is missing or out of date; nothing has to be installed before.

PYTHON ?= python3
ifeq ($(OS),Windows_NT)
  BIN := .venv/Scripts
else
  BIN := .venv/bin
endif
PY := $(BIN)/python
# JupyterLab refuses to run as root, which is what one is in most containers.
ROOT := $(shell [ "$$(id -u 2>/dev/null)" = 0 ] && echo --allow-root)
FIRST := notebooks/en/01_text_to_text.ipynb
NBVAL := --nbval-lax --nbval-current-env --nbval-cell-timeout=120 --nbval-sanitize-with tests/nbval.cfg

.PHONY: help setup lab doctor test test-all lint unit notebooks-test slow browser kernels format notebooks pictures recordings bench \
  reliability patterns lock binder lowest

help:
	@echo "lab        open the course in JupyterLab (ARGS=--no-browser prints the address only)"
	@echo "doctor     check this machine and say how to mend what fails"
	@echo "test       lint, types, unit tests, doctests, every notebook"
	@echo "test-all   test, and the slow ones: fuzzing, a real browser"
	@echo "format     format the code"
	@echo "notebooks  run every notebook in order and keep the outputs"
	@echo "pictures   take the pictures of README and docs in headless Chromium"
	@echo "recordings make the recordings anew with your model (MODEL=path/to/model.gguf)"
	@echo "bench      measure a call, constraints, the loop, and how calls are read, beside other ways"
	@echo "reliability  how often calls are valid and right, rung by rung; hours, goes on after a stop"
	@echo "patterns   kinds of agents on 12 tasks; goes on after a stop (MODEL=path adds a model)"
	@echo "lock       write constraints.txt anew from pyproject.toml"
	@echo "binder     write binder/requirements.txt anew from constraints.txt"
	@echo "lowest     run the tests on the lowest versions that pyproject.toml allows"

setup:
	@$(PYTHON) scripts/setup.py

lab: setup
	$(PY) -m jupyterlab $(ROOT) --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/$(FIRST) $(ARGS)

doctor: setup
	@$(PY) -m toolcall_lab.cli doctor

test: lint unit notebooks-test

test-all: test slow browser

slow: setup
	$(PY) -m pytest -m slow

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

unit: setup
	$(PY) -m pytest -m "not browser and not slow"

notebooks-test: setup
	TOOLCALL_LAB_STATIC=1 TOOLCALL_LAB_MODEL= TOOLCALL_LAB_HOME="$(CURDIR)/.pytest_cache/home" $(PY) -m pytest $(NBVAL) -n 2 --dist loadscope notebooks

browser: setup kernels
	$(PY) -m pytest -m browser

kernels: setup
	$(PY) scripts/kernels.py

format: setup
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

notebooks: setup
	$(PY) scripts/run_notebooks.py $(ARGS)

pictures: setup
	$(PY) scripts/pictures.py

recordings: setup
	$(PY) scripts/record.py $(MODEL)

bench: setup
	@$(PY) -m pip install --quiet --constraint constraints.txt --editable ".[bench]"
	@$(PYTHON) -m venv .venv-guidance  # it wants another version of llguidance
	@CMAKE_ARGS="$${CMAKE_ARGS:--DLLAVA_BUILD=OFF}" $(subst .venv,.venv-guidance,$(PY)) -m pip install \
	  --quiet --constraint benchmarks/guidance.txt guidance llama-cpp-python
	$(PY) benchmarks/speed.py
	$(PY) benchmarks/constraints.py $(MODEL)
	$(PY) benchmarks/loop.py
	$(PY) benchmarks/reading.py
	$(PY) benchmarks/views.py
	$(PY) benchmarks/memory.py
	$(PY) benchmarks/lessons.py

reliability: setup
	@$(PY) -m pip install --quiet --constraint constraints.txt --editable ".[bench]"
	$(PY) benchmarks/reliability.py $(or $(MODEL),plain trained) --capstone --report

patterns: setup
	$(PY) benchmarks/patterns.py "" $(MODEL)

lock: setup
	$(PY) -m pip install --quiet uv
	$(PY) -m uv pip compile pyproject.toml --extra lab --extra test --universal --python-version 3.10 \
	  --no-emit-index-url --no-annotate --custom-compile-command "make lock" \
	  --upgrade --output-file constraints.txt

binder: setup
	$(PY) -m pip install --quiet uv
	$(PY) scripts/binder.py

lowest: setup
	$(PY) -m pip install --quiet uv
	$(PY) -m uv pip compile pyproject.toml --extra lab --extra test --resolution lowest-direct --quiet \
	  --no-emit-index-url --output-file .venv-lowest.txt
	$(PYTHON) -m venv --clear .venv-lowest
	CMAKE_ARGS="$${CMAKE_ARGS:--DLLAVA_BUILD=OFF}" $(subst .venv,.venv-lowest,$(PY)) -m pip install \
	  --quiet --constraint .venv-lowest.txt --editable ".[lab,test]"
	$(subst .venv,.venv-lowest,$(PY)) -m pytest -m "not browser and not slow"
