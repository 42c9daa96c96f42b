# `make lab` needs Python 3.11 or newer and nothing else; it keeps everything it installs in .venv.
PYTHON ?= python3
LAB_FLAGS ?=
BENCH_FLAGS ?=
HANDOUT_FLAGS ?=
# What the compiler's report needs, GPU or none; with a driver older than CUDA 13: make test CUDA=cuda12
CUDA ?= cuda13
# What `make quick` runs: what most changes break first.
QUICK := tests/launch tests/sandbox tests/tools tests/test_ladder.py tests/test_style.py notebooks/00_start_here.ipynb notebooks/02_naive.ipynb
VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check

.PHONY: lab test quick lowest notebooks zh web bench handout constraints clean

lab: $(VENV)/lab.stamp  ## the course, opened in JupyterLab
	$(VENV)/bin/python -m jupyter lab $(LAB_FLAGS) notebooks/00_start_here.ipynb

test: $(VENV)/test.stamp  ## every notebook and every test
	$(VENV)/bin/python -m pytest

quick: $(VENV)/test.stamp  ## the code's form, the units and two notebooks, within a minute
	$(VENV)/bin/python -m ruff check .
	$(VENV)/bin/python -m ruff format --check .
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python -m pytest -q $(QUICK)

# Without Kernel Tuner, which wants NumPy 2: so the oldest NumPy is tested.
lowest:  ## with the oldest versions that pyproject.toml allows: doctor, checks in both dialects, page 02
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip --disable-pip-version-check install -q uv
	$(VENV)-lowest/bin/uv pip install -q --python $(VENV)-lowest/bin/python --resolution lowest-direct \
	  -e . 'pytest>=8.0' 'nbval>=0.11'
	$(VENV)-lowest/bin/uv pip list -q --python $(VENV)-lowest/bin/python
	$(VENV)-lowest/bin/python -m helpers doctor
	$(VENV)-lowest/bin/python -m pytest -q -o addopts= --nbval-lax --nbval-current-env --nbval-cell-timeout 600 \
	  tests/test_lowest.py notebooks/02_naive.ipynb

notebooks: $(VENV)/test.stamp  ## run every notebook again and store its outputs
	$(VENV)/bin/python tools/notebooks.py

zh: $(VENV)/test.stamp  ## the Chinese pages, from the English ones and po/zh_CN/
	$(VENV)/bin/python tools/translate.py

web: $(VENV)/test.stamp  ## both languages as a web book, in web/, from the stored outputs; needs no network
	$(VENV)/bin/python tools/web.py

bench: $(VENV)/lab.stamp  ## the whole ladder, timed on this machine
	$(VENV)/bin/python -m helpers bench $(BENCH_FLAGS)

handout: $(VENV)/lab.stamp  ## the pages for a class, without solutions: make handout HANDOUT_FLAGS="--pages 00 01 02"
	$(VENV)/bin/python tools/handout.py $(HANDOUT_FLAGS)

$(VENV)/lab.stamp: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "The course needs Python 3.11 or newer, and '$(PYTHON)' is not that: $$($(PYTHON) --version 2>&1)."; \
	  echo "Name another one: make lab PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@echo "Installing the course into $(VENV). It takes some minutes, and says nothing until it is done."
	$(PIP) install -q -c constraints.txt -e '.[lab]'
	@touch $@

$(VENV)/test.stamp: $(VENV)/lab.stamp
	$(PIP) install -q -c constraints.txt -e '.[lab,test,many,web,$(CUDA)]'
	@touch $@

# The newest of everything that pyproject.toml allows, on the oldest Python it allows. Run `make test` after it.
# cuda-* and nvidia-* are upper bounds, since the extra cuda12 wants older ones than cuda13 does.
constraints:
	rm -rf $(VENV)-constraints
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "make constraints PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)-constraints
	$(VENV)-constraints/bin/python -m pip --disable-pip-version-check install -q -e '.[lab,test,many,web,peers,cuda13]'
	{ echo "# What was tested together. Made by 'make constraints'; do not edit."; \
	  $(VENV)-constraints/bin/python -m pip --disable-pip-version-check freeze --exclude-editable \
	  | sed -E 's/^((cuda|nvidia)-[a-z0-9-]*)==/\1<=/'; } > constraints.new
	mv constraints.new constraints.txt
	rm -rf $(VENV)-constraints

clean:  ## what make and the tests made; the notebooks stay as they are
	rm -rf $(VENV) $(VENV)-constraints $(VENV)-lowest handout build web *.egg-info .pytest_cache screenshots
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
