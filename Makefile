# `make run` and `make test` are all that a newcomer needs: both create .venv and install the packages first.
# `make check` is the fast loop while working: lint, types, and the tests that take under about a second each.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run reproduce check test test-integrations test-flower lint types pytest format bench docs dist test-dist clean

run: .venv/installed
	$(BIN)/fedcert run --out runs/digits --overwrite --check

# The paper's whole evaluation, and ours; killed, it resumes. FEDCERT_DATA: the folder of the IDX files, if here.
reproduce: .venv/installed
	$(BIN)/python -m reproduction --out runs/paper

check: lint types
	$(BIN)/pytest -q -n 2 --dist worksteal -m 'not slow'

test: lint types pytest

# The readers against the libraries themselves: a library that is missing is a failure here.
test-integrations: .venv/integrations
	FEDCERT_INTEGRATIONS=1 $(BIN)/pytest -q -n 2 tests/adapters tests/examples/integrations tests/training/test_structured_laplace.py tests/app/test_structured_run.py
	$(BIN)/pytest -q tests/test_pages.py -k laplace
	$(MAKE) test-flower

# Flower, in an environment of its own with the ray that flwr pins; processes on 127.0.0.1, one test after the other.
test-flower: .venv-flower/installed
	FEDCERT_INTEGRATIONS=1 .venv-flower/bin/pytest -q tests/flower tests/examples/flower src/fedcert/flower
	.venv-flower/bin/pytest -q tests/test_pages.py -k flower

lint: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/installed
	$(BIN)/mypy

pytest: .venv/installed
	$(BIN)/pytest -q -n 2

format: .venv/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# auto_LiRPA is compared with where it can be imported; AUTO_LIRPA names a clone of it.
bench: .venv/installed
	$(BIN)/python benchmarks/bench.py --plot benchmarks/scaling.png $(if $(AUTO_LIRPA),--auto-lirpa $(AUTO_LIRPA)) $(if $(BATTEN),--batten $(BATTEN))
	$(BIN)/python benchmarks/interval_verifier.py
	$(BIN)/python benchmarks/tuple_search.py

.venv/installed: pyproject.toml checker/pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ./checker -e '.[dev]'
	touch $@

.venv/integrations: .venv/installed requirements/integrations-no-deps.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[integrations]'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -r requirements/integrations-no-deps.txt
	touch $@

.venv-flower/installed: pyproject.toml checker/pyproject.toml requirements/flower.txt
	$(PYTHON) -m venv .venv-flower
	.venv-flower/bin/pip install --quiet --disable-pip-version-check -c requirements/flower.txt -e ./checker -e '.[dev,flower]'
	touch $@

# Wheels and source distributions of both packages, with the metadata that PyPI asks for.
dist: .venv/dist
	rm -rf dist
	$(BIN)/python -m build --quiet --outdir dist checker
	$(BIN)/python -m build --quiet --outdir dist .
	$(BIN)/twine check --strict dist/*

# What was built, in empty environments outside of the repository: newest and lowest versions; the checker alone.
test-dist: dist
	requirements/test_dist.sh constraints.txt
	requirements/test_dist.sh requirements/lowest.txt

.venv/dist: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dist]'
	touch $@

# The documentation, strictly: a warning is an error, and so is a link to a page or heading that is not there.
docs: .venv/docs
	$(BIN)/sphinx-build --quiet --fresh-env --write-all --fail-on-warning --keep-going --jobs 2 --builder html docs site
	@echo "read site/index.html"

.venv/docs: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

clean:
	rm -rf .venv .venv-flower runs site dist
