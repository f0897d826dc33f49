# make run    a virtual environment, the package, the quickstart
# make test   the tests, with real servers and a real Ray
# make check  style, types, floors, file sizes, and the examples of the documentation
#
# Each installs what it needs once, and again when pyproject.toml or constraints.txt change.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell .ci/python)
DOCS := $(wildcard tests/unit/runtime/test_configuration_page.py tests/docs)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test check style format types floors sizes examples clean

run: $(VENV)/.package
	$(BIN)/orchestra run configs/quickstart.yaml

test: $(VENV)/.package-test
	$(BIN)/python -m pytest $(ARGS)

# With -k, as in `make -k check`, all of these are looked at, whatever the first ones find.
check: style format types floors sizes examples

style: $(VENV)/.package-test
	$(BIN)/ruff check .
format: $(VENV)/.package-test
	$(BIN)/ruff format --check .
types: $(VENV)/.package-test
	$(BIN)/mypy
floors: $(VENV)/.package-test
	$(BIN)/lint-imports
sizes: $(VENV)/.package-test
	$(BIN)/loq check
examples: $(VENV)/.package-test
	$(BIN)/python -m pytest $(DOCS)

clean:
	rm -rf $(VENV)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed, with venv; or: make PYTHON=/path/to/python" >&2; exit 2; }
	"$(PYTHON)" -m venv $(VENV)

$(VENV)/.package: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.package-test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test]'
	touch $@ $(VENV)/.package
