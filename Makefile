# make play   the game at http://localhost:8000 (PORT=... for another port)
# make swarm  twenty seconds of a thousand bots: what the server does, and whether it is right
# make check  in two minutes: lint, types, and the tests that run in one process
# make test   all tests but those of the studies; sets up what they need
# make test-studies  what repeats source documents and compares servers: loadtest/studies/;
#             needs Go, Rust and GCC
# make test-outside  what needs a wheel, another browser or an operator's recipe, and what takes long
#             and rarely fails
# make again TEST=...  one test, TIMES=... times: whether it ever fails
# make runs   make test TIMES=... times in a row; BUSY=1 beside a process that takes a core
# make simulate  random worlds of several nodes in which everything goes wrong, for a minute, with the
#             bare game of the tests and beside it with Flatlands: SECONDS=... for longer, FIRST=...
#             from a seed on, SEED=... plays those of one seed again
# make fuzz   bytes and messages that no honest client sends, for a minute: SECONDS=..., SEED=...
# make mutants  small faults in the server, COUNT=... of them, and which ones the tests find: SEED=...
# make chaos  faults under a swarm, one after the other, and a soak: what is promised, and what came of it
# make truth  whether the swarm's verdicts are right, many times over: takes hours
# make bench  what a move, a flush and a snapshot cost, and the server under load, beside targets
# make bench-growth  how the cost grows with workers, nodes and crowds: docs/scale.md
# make bench-peers  the same work on other realtime servers, beside ours: docs/peers.md
# make fast   compiles the modules on the path of a move: the server is then faster, not different
# make dist  the wheel, into build/dist/
# make release  the tag and the wheel of the version that CHANGELOG.md begins with
# make paths  which files a move, a hello and an action pass through, and how many calls each gets
# make map  draws the packages of server/, and what each imports, in ARCHITECTURE.md
# make site  the docs as pages with search, into build/site/: what `flatlands docs` shows
# make lint, make types, make autobahn, make vectors, make lock, make clean

PYTHON ?= python3
PORT ?= 8000
SECONDS ?= 60
TIMES ?= 10
# Tests mostly wait, so more of them run at a time than there are cores.
AT_ONCE ?= 10
BIN = .venv/bin
# The tests start hundreds of Python programs, which need not compile the same modules each time.
unexport PYTHONDONTWRITEBYTECODE
STUDIES = loadtest/studies
NODE_PEERS = $(STUDIES)/peers/servers
JS = tests/js
# Runs a script of $(JS)/package.json over the page.
javascript = @if command -v npm > /dev/null; then npm run --silent --prefix $(JS) $(1); \
  else echo "The JavaScript in static/ is not looked at: npm is not on this machine."; fi

.PHONY: play swarm chaos truth bench bench-peers check test simulate fuzz lint types autobahn vectors lock clean

play: .venv/playable .flatlands-secret
	@PORT=$(PORT) SECRET_KEY=$${SECRET_KEY:-$$(cat .flatlands-secret)} $(BIN)/python -m server

# Signs the tokens of players who come back, also after a restart.
.flatlands-secret: | .venv/created
	@umask 077; $(BIN)/python -c 'import secrets; print(secrets.token_hex())' > $@

swarm: .venv/measurable
	@$(BIN)/python loadtest/bots.py --bots 1000 --seconds 20

chaos: .venv/measurable
	@$(BIN)/python -m loadtest.chaos --soak 600

truth: .venv/testable
	@$(BIN)/python -m tests.loadtest.truth

bench: .venv/measurable
	@$(BIN)/python -m bench

.PHONY: bench-floods
bench-floods: .venv/measurable
	@$(BIN)/python -m loadtest.studies floods

.PHONY: bench-server
bench-server: .venv/testable
	@$(BIN)/python -m bench.server $(COMMIT)

# On a machine where others use the cores there is no verdict, which is no failure.
.PHONY: bench-release
bench-release: .venv/measurable
	@$(BIN)/python -m bench.server --short || test $$? = 3

.PHONY: bench-overload
bench-overload: .venv/measurable
	@$(BIN)/python -m loadtest.studies overload

.PHONY: bench-growth
bench-growth: .venv/measurable
	@$(BIN)/python -m loadtest.studies growth --report tests/output/growth --json tests/output/growth/run.json

bench-peers: .venv/measurable .venv-peers/installed $(NODE_PEERS)/node_modules/.package-lock.json
	@$(BIN)/python -m loadtest.studies peers --report tests/output/peers --json tests/output/peers/run.json

check: .venv/testable $(JS)/node_modules/.package-lock.json
	@$(MAKE) --no-print-directory --jobs 3 lint types in-process

.PHONY: fast
fast: .venv/testable
	@$(BIN)/python -m flatlands.compiled

# The same tests of rules and server over the compiled modules: this needs a compiler.
.PHONY: in-process-compiled
in-process-compiled: fast
	@$(BIN)/python -m pytest --compiled -p no:cacheprovider -n 2 --dist worksteal \
	  -m "not (process or browser or load or outside or interpreted)" tests/world tests/server tests/simulate $(wildcard games/*/tests/test_*.py games/*/*/tests/test_*.py)

.PHONY: in-process
in-process: .venv/testable
	@$(BIN)/python -m pytest -n 4 --dist worksteal -m "not (process or browser or load or outside)"

# Python compiles the tests' files once, and not in each process of pytest at the same time.
.PHONY: collect
collect: .venv/testable
	@$(BIN)/python -m pytest --collect-only | tail -n 1

# What make test and make test-outside need.
.PHONY: programs
programs: .venv/testable
	@sh tests/need.sh
	@$(MAKE) --no-print-directory $(JS)/node_modules/.package-lock.json

# The few files that have a marker: each process of pytest would take seconds to load all of them.
marked = $(shell grep -rl --include=*.py 'mark\.$(1)\b' tests games)

test: programs
	@$(BIN)/python -m pytest -n $(AT_ONCE) --dist worksteal -m "not (alone or outside)"
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m "alone and not outside" $(call marked,alone)

.PHONY: test-outside
test-outside: programs
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m outside $(call marked,outside)

# Most of these measure, so not as many run at a time.
.PHONY: test-studies
test-studies: .venv/testable
	@sh tests/need.sh studies
	@$(BIN)/python -m pytest -n 6 --dist worksteal -m "not alone" $(STUDIES)
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m alone $(STUDIES)

.PHONY: again
again: .venv/testable
	@$(BIN)/python -m pytest -n $(AT_ONCE) --dist worksteal --times $(TIMES) $(TEST)

.PHONY: runs
runs: .venv/testable
	@$(BIN)/python -m tests.runs --times $(TIMES) $(if $(BUSY),--busy)

# The modules that play the bare game, and those of each game that has one: two at the same time.
of_games = tests.$(1) $(subst /,.,$(basename $(wildcard games/*/tests/$(1).py)))
SEARCHES = $(call of_games,simulate) $(call of_games,fuzz)

simulate fuzz: .venv/testable
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs 2) $(call of_games,$@)

.PHONY: $(SEARCHES)
$(SEARCHES):
	@$(BIN)/python -m $@ --seconds $(SECONDS) \
	  $(if $(FIRST),--first $(FIRST)) $(if $(SEED),--seed $(SEED))

# It takes hours. UNTIL=in-process tries only the tests that start no other program; with JSON=a file
# it goes on where it was ended.
.PHONY: mutants
mutants: programs
	@$(BIN)/python -m tests.mutants $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) \
	  $(if $(JSON),--json $(JSON)) $(if $(UNTIL),--until $(UNTIL)) $(if $(TREE),--tree $(TREE))

lint: .venv/testable $(JS)/node_modules/.package-lock.json
	@$(BIN)/ruff check . && $(BIN)/ruff format --check --quiet . || { echo "Format the code: $(BIN)/ruff format"; exit 1; }
	@told=$$($(BIN)/lint-imports --no-logo --no-cache) || { echo "$$told"; exit 1; }
	$(call javascript,lint)

types: .venv/testable $(JS)/node_modules/.package-lock.json
	@$(BIN)/mypy
	$(call javascript,types)

.PHONY: dist
dist: .venv/testable
	@rm -rf build/dist build/lib build/bdist.*
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w build/dist .
	@rm -rf build/lib build/bdist.* && ls build/dist/*.whl

# A release of the commit that is checked out, whose version is in flatlands/__init__.py. It pushes nothing.
.PHONY: release
release: .venv/testable
	@test -z "$$(git status --porcelain)" || { echo "Commit or remove these first:"; git status --short; exit 1; }
	@$(BIN)/python -m pytest -k have_one_version tests/test_files.py
	@tag=v$$($(BIN)/python -c 'import flatlands; print(flatlands.__version__)'); \
	  ! git rev-parse --quiet --verify "refs/tags/$$tag" > /dev/null || { echo "There is a tag $$tag: raise the version."; exit 1; }; \
	  $(MAKE) --no-print-directory dist && git tag --annotate "$$tag" --message "Flatlands $${tag#v}" && \
	  echo "This commit is $$tag now. Publish it with: git push origin $$tag"

.PHONY: paths
paths: .venv/testable
	@$(BIN)/python -m tests.paths

.PHONY: map
map: .venv/testable
	@$(BIN)/python -m tests.map

.PHONY: site
site: .venv/testable
	@$(BIN)/python -m flatlands docs --into build/site

autobahn: .venv/testable
	@$(BIN)/python -m tests.server.autobahn

# The golden vectors that Python and the browser are held to: only after a change of the rules.
vectors: .venv/testable
	@set -e; for module in $(patsubst tests.vectors,tests.vectors.make,$(call of_games,vectors)); do \
	  $(BIN)/python -m $$module; done

# The versions of all packages, also of those that only packages need: two deploys of one commit are
# the same. After a change of requirements*.txt. redis needs one more on the Python of Debian 12.
lock:
	@rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock && : > requirements.lock
	@echo "Looking up what the packages need ..."
	@.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@.venv-lock/bin/python -m pip freeze --all --exclude pip --exclude async-timeout > requirements.lock
	@echo 'async-timeout==5.0.1; python_full_version < "3.11.3"' >> requirements.lock && rm -rf .venv-lock

clean:
	rm -rf build .venv .venv-lock .venv-peers $(NODE_PEERS)/node_modules $(JS)/node_modules .autobahn .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/output
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Flatlands needs Python 3.11 or newer: name one with make PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; \
	  echo "Python's venv module does not work here: install it (Debian: apt-get install python3-venv)."; \
	  exit 1; }
	@touch $@

.venv/playable: requirements.txt requirements.lock | .venv/created
	@echo "Installing what the server needs (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/measurable: requirements.txt requirements.lock requirements-loadtest.txt | .venv/created
	@echo "Installing what the load tests need (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-loadtest.txt
	@touch $@ .venv/playable

.venv/testable: requirements.txt requirements.lock requirements-loadtest.txt requirements-dev.txt | .venv/created
	@echo "Installing what the tests need (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@ .venv/playable .venv/measurable

# Apart from ours: a peer's packages must not change what the server is tested with.
.venv-peers/installed: $(STUDIES)/peers/requirements.txt | .venv/created
	@echo "Installing the peers that are in Python (once) ..."
	@$(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# Without npm nothing is installed, and the command says what it leaves out.
%/node_modules/.package-lock.json: %/package-lock.json
	@! command -v npm > /dev/null || { echo "Installing the packages of $* (once) ..."; \
	  npm ci --prefix $* --loglevel error --no-audit --no-fund > /dev/null && touch $@; }
