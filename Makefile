# `make` lists what there is. `make lab` needs Python 3.11.2 or newer and nothing else; it installs into .venv.
PYTHON ?= python3
# JupyterLab's options, and a page; with --small the install leaves out NVIDIA's compiler.
LAB_FLAGS ?=
BENCH_FLAGS ?=
HANDOUT_FLAGS ?=
UPGRADE ?= --upgrade
# What `make quick` runs: a page, and what most changes break first.
QUICK := notebooks/03_coalescing.ipynb tests/launch/test_kernel.py tests/launch/test_refusals.py tests/clock tests/exercises tests/judge/test_products.py tests/test_ladder.py tests/test_style.py packages/gpu_model packages/opencl_trace packages/kernel_judge --deselect packages/kernel_judge/tests/test_child.py
VENV := .venv

help:  ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## /make \1\t/p' Makefile | expand -t 18

# Containers set it, and each process would compile every file of the course and its tests again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help lab test lint quick faults lowest notebooks zh web bench handout constraints clean

lab: $(VENV)/lab.stamp  ## the course, opened in JupyterLab: your own copies of its pages, in my_pages/
	@$(VENV)/bin/python tools/lab.py $(filter-out --small,$(LAB_FLAGS))

test: $(VENV)/test.stamp  ## every notebook and every test but the bulk, which .ci/run adds
	$(VENV)/bin/python -m pytest

lint: $(VENV)/test.stamp  ## the code's form, what it may import, and the types of what helpers offers
	$(VENV)/bin/python -m ruff check .
	$(VENV)/bin/python -m ruff format --check .
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python -m mypy helpers/__init__.py helpers/*/__init__.py
	$(VENV)/bin/python tools/notebooks.py --check
	$(VENV)/bin/python tools/sizes.py

quick: $(VENV)/test.stamp  ## what most changes break first, within half a minute
	$(VENV)/bin/python -m pytest -q $(QUICK)

faults: $(VENV)/test.stamp  ## one-token faults planted in the code, one at a time: which test catches each; takes hours
	$(VENV)/bin/python tools/faults.py reach
	$(VENV)/bin/python tools/faults.py draw
	$(VENV)/bin/python tools/faults.py try

# Of the extras it takes NVIDIA's compiler alone: so the oldest versions of what the course itself needs are tested.
lowest:  ## with the oldest versions that pyproject.toml allows: doctor, checks, a prediction, page 02
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip --disable-pip-version-check install -q uv
	$(VENV)-lowest/bin/uv pip install -q --python $(VENV)-lowest/bin/python --resolution lowest-direct \
	  -e '.[cuda12]' 'pytest>=8.2' 'nbval>=0.11'
	$(VENV)-lowest/bin/uv pip list -q --python $(VENV)-lowest/bin/python
	$(VENV)-lowest/bin/python -m helpers doctor
	$(VENV)-lowest/bin/python -m pytest -q -o addopts= --nbval-lax --nbval-current-env --nbval-cell-timeout 600 \
	  tests/test_lowest.py notebooks/02_naive.ipynb

notebooks: $(VENV)/test.stamp  ## run every notebook again and store its outputs
	$(VENV)/bin/python tools/notebooks.py

zh: $(VENV)/test.stamp  ## the Chinese pages, from the English ones and their translations, notebooks/zh_CN/po/
	$(VENV)/bin/python tools/translate.py

web: $(VENV)/web.stamp  ## both languages as a web book, in web/, from the stored outputs; fetches Sphinx first, 60 MB
	$(VENV)/bin/python tools/web.py

bench: $(VENV)/lab.stamp  ## the whole ladder, timed on this machine
	$(VENV)/bin/python -m helpers bench $(BENCH_FLAGS)

handout: $(VENV)/lab.stamp  ## the pages for a class, without solutions: make handout HANDOUT_FLAGS="--pages 00 01 02"
	$(VENV)/bin/python tools/handout.py $(HANDOUT_FLAGS)

$(VENV)/lab.stamp: pyproject.toml tools/locks/constraints.txt $(VENV)/bin/python
	@$(PYTHON) tools/install.py lab $(filter --small,$(LAB_FLAGS))
	@touch $@

# What lab.stamp says is not so where .venv has lost its Python, as when the system's Python went.
$(VENV)/bin/python: ;

$(VENV)/test.stamp: $(VENV)/lab.stamp
	@$(PYTHON) tools/install.py lab test many web
	@touch $@

$(VENV)/web.stamp: $(VENV)/lab.stamp
	@echo "Sphinx makes the web book. Where it is missing, some 60 MB are fetched."
	@$(PYTHON) tools/install.py web
	@touch $@

# One version of each package for every Python and system that pyproject.toml promises. Run `make test` after it.
# The extras cuda12 and cuda13 want different versions of the same packages, so there are two files.
COMPILE := UV_CUSTOM_COMPILE_COMMAND="make constraints" $(VENV)/bin/uv pip compile -q pyproject.toml --no-annotate \
  --universal --fork-strategy fewest --python-version 3.11.2 --extra lab --extra test --extra many --extra web --extra blocks --extra cutile --extra successor --extra room
constraints: $(VENV)/test.stamp  ## the newest versions that pyproject.toml allows; UPGRADE= keeps those that are pinned
	$(COMPILE) $(UPGRADE) --extra cuda13 -o tools/locks/constraints.txt
	cp tools/locks/constraints.txt tools/locks/constraints-cuda12.txt
	$(COMPILE) --extra cuda12 -o tools/locks/constraints-cuda12.txt

clean:  ## what make and the tests made; the notebooks stay as they are
	rm -rf $(VENV) $(VENV)-lowest handout build web *.egg-info .pytest_cache .mypy_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
