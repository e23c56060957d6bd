# Two commands do everything on a fresh machine: `make run` and `make test`.

PYTHON ?= python3
MODEL ?=
ARGS ?=
BIN = .venv/bin
TREE = build/tree

.DEFAULT_GOAL := help
.PHONY: help run test bench eval-origin check lint types borders tree format environment test-environment clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: environment ## Set up if needed, open the window (MODEL=path for a model of your own)
	$(BIN)/python -m logitscope $(if $(MODEL),"$(MODEL)")

test: test-environment ## Set up if needed, run all tests without a screen (ARGS="-k name")
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest $(ARGS)

bench: test-environment ## Measure speed and memory, print a table
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest tests/benchmarks -s -q $(ARGS)

eval-origin: test-environment ## Evaluate the origin analysis on Prov-120 (MODEL=path for another model)
	nice $(BIN)/python tests/benchmarks/eval_origin.py $(if $(MODEL),"$(MODEL)") $(ARGS)

check: lint types borders ## Lint, formatting, types, borders between the rooms

lint: test-environment
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: tree
	MYPYPATH=$(TREE) $(BIN)/mypy

borders: tree
	PYTHONPATH=$(TREE) $(BIN)/lint-imports --no-cache

tree: test-environment
	@$(BIN)/python packaging/link_tree.py

format: test-environment ## Format the code and sort the imports
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

environment:
	@$(PYTHON) packaging/setup_environment.py run

test-environment:
	@$(PYTHON) packaging/setup_environment.py test

clean: ## Remove what make has built
	rm -rf .venv build *.egg-info
