# goodqueue: `make demo` shows the main job, `make test` runs everything that CI runs.

CARGO ?= cargo
# With an empty QUIET cargo shows its progress.
QUIET ?= --quiet
LINKER ?= cc
REPORT ?= goodqueue-report.html
CHROMIUM ?= chromium
TARGET = $(or $(CARGO_TARGET_DIR),target)
GOODQUEUE = $(TARGET)/release/goodqueue

# Programs outside the workspace: one with a discipline of its own, one with a controller and a source of its own.
OWN = examples/own-discipline
OWN_TRAFFIC = examples/own-traffic

# A fresh checkout compiles each crate once. What the compiler keeps for a next compilation would only take time and disk.
ifdef CI
export CARGO_INCREMENTAL = 0
endif

# Transports behind a link, outside the workspace: smoltcp needs Rust 1.91.
TRANSPORTS = examples/transports

# A front end of its own, outside the workspace.
SERVER = examples/server

PYTHON ?= python3
VENV = $(TARGET)/python
WHEEL_VENV = $(TARGET)/maturin

# Target of the playground's module.
WASM = wasm32-unknown-unknown

FUZZ_SECONDS ?= 60
MUTANTS ?= 10000
KILLS ?= 1000
MODELS ?= 50
ROUNDS ?= 10
PAPERS ?= gbw gong jk l4s nj rfc7928
# A static program runs on every Linux of this architecture, also in an empty container.
DIST_TARGET ?= x86_64-unknown-linux-musl
DIST = $(TARGET)/dist
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
# Crates that only serve the tests of the others, and the one that maturin packages.
UNPUBLISHED = --exclude goodqueue-testkit --exclude goodqueue-hostile --exclude goodqueue-wasm --exclude goodqueue-py
FUZZ_TARGETS = operations link_operations tc_line scenario trace recording capture claims verdicts netem_table tcp_segments wasm_policy control_line undo_file live_packets

.PHONY: speed quick announce site site-check playground playground-test playground-page playground-bytes page-check bytes-check bench-playground wasm chromium python wheel bench-python own-discipline server transports own-traffic pages package package-build numbers score validation recordings page screenshot deviations demo test bench bench-live quic-live fuzz mutants random kills supply-chain msrv msrv-check counts counts-check models build debug format lint docs unit no-std demo-check install clean toolchain help

help:
	@echo "make demo     build goodqueue, compare seven queue disciplines, write $(REPORT)"
	@echo "make test     everything that CI runs: format, lints, docs, tests, the playground, no_std build, the demo"
	@echo "make quick    format, lints and unit tests of the crates that differ from the last commit, or of CRATES=..."
	@echo "make bench    speed of the simulator and of each discipline, memory of a run"
	@echo "make speed    the values of docs/speed.md, beside ns-2, ns-3 and daytone, and the page; PARTS=... of them; half an hour, and more than that again for reproduce"
	@echo "make bench-python  import of the Python package, and a sweep on a Dask cluster; a part of make bench"
	@echo "make bench-playground  speed, size and frame rate of the playground; a part of make bench"
	@echo "make bench-live  the live path beside the kernel's own; live and simulated latency side by side"
	@echo "make quic-live  QUIC between two processes on a real line, and in the simulator, for docs/quic.md; 10 minutes"
	@echo "make fuzz     hostile bytes into every fuzz target, FUZZ_SECONDS (60) each; needs a nightly toolchain"
	@echo "make mutants  10,000 mutations of the inputs of each kind: no panic, at most 1 GiB of memory; MUTANTS=... of each"
	@echo "make kills    1,000 kills (-9) of run, shell and shape at random moments, KILLS=... of them; make test has 50"
	@echo "make supply-chain  licences, sources and known vulnerabilities of all dependencies, with cargo-deny, npm and pip-audit"
	@echo "make msrv     compile everything with the oldest compilers that the manifests allow; a part of make test"
	@echo "make models   millions of operations on each discipline and on its slow model; MODELS=50 times those of make test"
	@echo "make random   the random tests with new seeds, ROUNDS=10 times"
	@echo "make python   build the Python package in a virtual environment, and test it"
	@echo "make wheel    the Python package as a wheel, as a release has it; 11 minutes of CPU time"
	@echo "make playground  build the page of queues side by side into playground/dist, for any static host"
	@echo "make site     playground, book, disciplines, papers and library as one static site in site/dist"
	@echo "make playground-test  its tests: bytes of the command, units, a browser"
	@echo "make counts   instructions per packet of each discipline beside those committed; UPDATE=1 writes them anew"
	@echo "make numbers  measure claims, real systems and recordings again, and write docs/numbers.md"
	@echo "make screenshot  the pictures in the README, with chromium"
	@echo "make dist     a static program with manual pages and completions, as $(DIST)/goodqueue-VERSION-TARGET.tar.gz"
	@echo "make deb      the same as a Debian package, with cargo-deb; make image: as a container image, with docker"
	@echo "make install  put the goodqueue command into ~/.cargo/bin"

demo: announce
	@$(MAKE) --no-print-directory build QUIET=
	@$(GOODQUEUE) compare --report $(REPORT)
	@echo
	@echo "The report is at $(CURDIR)/$(REPORT): open it in a browser."

# Within a minute once everything is compiled: what a change of one crate needs before it is committed.
quick: toolchain
	@.ci/quick $(CRATES)

# Two lanes side by side, since one alone seldom uses two processors: a test waits, or a crate is compiled in one thread.
# The parts of a lane follow each other. Those of the first share the folder of debug builds, which cargo locks. So do the
# last ones of the second, which come when it is free.
LANES = tests pages
tests-lane = format lint docs msrv-check unit own-discipline own-traffic server transports
pages-lane = page-check site-check counts-check no-std supply-chain python bytes-check demo-check package
test: toolchain
	@$(MAKE) --no-print-directory --jobs=2 --output-sync $(LANES:%=lane-%)

# Without CARGO_MAKEFLAGS compilers would look for make's own job server, which commands cannot reach, and warn of it.
lane-%:
	@for part in $($*-lane); do CARGO_MAKEFLAGS= $(MAKE) --no-print-directory $$part || exit; done

bench: build
	$(CARGO) bench --quiet --package goodqueue --bench disciplines
	$(CARGO) bench --quiet --package goodqueue-sim --bench simulator
	$(CARGO) bench --quiet --package goodqueue-quic --features sim --bench quic
	$(PYTHON) benches/speed/peers.py $(abspath $(GOODQUEUE))
	@$(MAKE) --no-print-directory bench-python
	@$(MAKE) --no-print-directory bench-playground

# Every value of docs/speed.md, and the page. The other simulators are measured where they are installed: Debian's ns2, and
# with PYTHON=... of a virtual environment the packages ns3 and daytone of PyPI.
speed: build playground
	$(CARGO) build --release --quiet --package goodqueue-wasm --example native
	$(PYTHON) benches/speed $(abspath $(GOODQUEUE)) $(abspath $(TARGET))/release/examples/native $(PARTS)
	UPDATE=1 $(CARGO) test --quiet --package goodqueue-cli --test speed

# The optimised Python package in a virtual environment of its own: its import, and a sweep on a Dask cluster of two
# processes. BENCH_RUNS=1000 is a tenth of it.
bench-python: toolchain
	test -x $(TARGET)/bench-python/bin/python || $(PYTHON) -m venv $(TARGET)/bench-python
	$(TARGET)/bench-python/bin/python -m pip --quiet --disable-pip-version-check install './python[dask]'
	$(TARGET)/bench-python/bin/python benches/python
	$(CARGO) bench --quiet --package goodqueue-agents --bench steps

# The live path of this machine: rate, delay, throughput, CPU; then live and simulated latency side by side.
bench-live: build
	$(CARGO) bench --quiet --package goodqueue-live --bench live
	$(GOODQUEUE) compare --both --rate 10mbit --time 30s --qdisc pfifo --qdisc codel --qdisc fq_codel

# Two processes with quinn behind `goodqueue shell`, and the same flows in the simulator. Measure on an idle machine.
quic-live: build
	$(CARGO) build --release --quiet --package goodqueue-quic --example transfer
	$(PYTHON) benches/quic-live $(GOODQUEUE) $(TARGET)/release/examples/transfer docs/measured/quic-live.json
	UPDATE=1 $(CARGO) test --quiet --package goodqueue-quic --features sim --test sim live

# New inputs are collected in fuzz/corpus, which is not committed; what finds something is left in fuzz/artifacts: give it
# a telling name in fuzz/seeds, and `cargo test` tries it for ever.
fuzz: toolchain
	@rustup run nightly cargo --version >/dev/null 2>&1 || { \
	  echo "Fuzzing needs a nightly toolchain, which is not here: rustup toolchain install nightly, then run make fuzz again."; \
	  exit 1; }
	@cargo fuzz --version >/dev/null 2>&1 || $(CARGO) install cargo-fuzz --locked || { \
	  echo "Fuzzing needs cargo-fuzz, which could not be installed: see above for the reason."; \
	  exit 1; }
	@for target in $(FUZZ_TARGETS); do \
	  echo "fuzz target $$target, $(FUZZ_SECONDS) s"; \
	  mkdir -p fuzz/corpus/$$target; \
	  (cd fuzz && cargo +nightly fuzz run --sanitizer none $$target corpus/$$target seeds/$$target -- \
	    -max_total_time=$(FUZZ_SECONDS) -max_len=2048 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
	    </dev/null) || exit 1; \
	done

# A debug build, since it looks for overflows; some minutes. What finds something is left in fuzz/artifacts.
mutants: toolchain
	MUTANTS=$(MUTANTS) $(CARGO) test --quiet --package goodqueue-hostile --test mutants -- --nocapture

# The Python package in a virtual environment of its own: types, tests and the examples of its README. A debug build,
# which shares what the other tests compile; `pip install ./python` makes an optimised one.
python: toolchain
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "The Python package needs Python 3.10 or later with the module venv: install python3 and python3-venv, or set PYTHON=..."; \
	  exit 1; }
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip --quiet --disable-pip-version-check install --requirement python/requirements-test.txt
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --quiet --profile dev --manifest-path python/Cargo.toml
	cd python && $(abspath $(VENV))/bin/ruff check .
	cd python && $(abspath $(VENV))/bin/mypy
	cd python && $(abspath $(VENV))/bin/python -m pytest --quiet

# The optimised package as the wheel that a release uploads: one file for every Python from 3.10 on. The profile is release
# with unwinding: a panic in a notebook must not end its kernel.
wheel: toolchain
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "A wheel needs Python 3.10 or later with the module venv: install python3 and python3-venv, or set PYTHON=..."; \
	  exit 1; }
	@echo "This compiles the package, which takes about 11 minutes of CPU time."
	test -x $(WHEEL_VENV)/bin/python || $(PYTHON) -m venv $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/python -m pip --quiet --disable-pip-version-check install "$$(grep ^maturin== python/requirements-test.txt)"
	rm -f $(TARGET)/wheels/goodqueue-*.whl
	VIRTUAL_ENV=$(abspath $(WHEEL_VENV)) $(WHEEL_VENV)/bin/maturin build --profile wheel --strip --manifest-path python/Cargo.toml --out $(TARGET)/wheels
	@ls -l $(TARGET)/wheels/goodqueue-*.whl | awk '{ printf "%s, %.1f MB\n", $$NF, $$5 / 1e6 }'

# The simulator as a WebAssembly module, with its JavaScript side.
wasm: toolchain
	@test -d "$$(rustc --print target-libdir --target $(WASM))" || rustup target add $(WASM) || { \
	  echo "The playground needs the compiler's target $(WASM): install Rust with rustup (see rustup.rs), then run make again."; \
	  exit 1; }
	$(CARGO) build --profile wasm --target $(WASM) --package goodqueue-wasm --quiet
	$(CARGO) run --quiet --locked --manifest-path playground/bindgen/Cargo.toml --target-dir $(TARGET)/bindgen -- \
	  $(TARGET)/$(WASM)/wasm/goodqueue_wasm.wasm playground/pkg

# Installs the versions of playground/package-lock.json, and builds a folder of files for any static host.
playground: wasm
	@command -v npm >/dev/null 2>&1 || { \
	  echo "The playground needs Node.js 20 or later with npm: install the packages nodejs and npm, then run make again."; \
	  exit 1; }
	cd playground && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	cd playground && npm run --silent check && npm run --silent build
	@echo "The playground is in $(CURDIR)/playground/dist. A browser needs it from a web server: npx --prefix playground esbuild --servedir=playground/dist"

playground-test: playground-page playground-bytes

playground-page: playground chromium
	cd playground && npm run --silent unit
	cd playground && npm run --silent browser

# The debug command beside the optimised module: equal bytes show that no number depends on the machine or on the
# optimisation. To compile an optimised command would take as long as all tests of the workspace.
playground-bytes: debug
	cd playground && GOODQUEUE=$(abspath $(TARGET))/debug/goodqueue npm run --silent bytes

# As `make test` runs them: without npm there is no page to test. Continuous integration must have it.
page-check bytes-check: %-check:
	@if command -v npm >/dev/null 2>&1 || [ -n "$$CI" ]; then $(MAKE) --no-print-directory playground-$*; \
	else echo "playground: SKIPPED: npm is not installed"; fi

# Playground, book, disciplines, papers and the library's documentation as one static site. The commands of the book
# run, and the pages show what they print. SITE_BASE=/folder/ if the host has it in a folder.
SITE_PAPERS ?= jk gong nj gbw
site: build docs playground
	cd site && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	cd site && GOODQUEUE=$(abspath $(GOODQUEUE)) CARGO_TARGET_DIR=$(abspath $(TARGET)) PAPERS="$(SITE_PAPERS)" npm run --silent prepare-pages
	cd site && npm run --silent build
	cd site && SITE_BUILT=1 node --test --test-reporter=dot tests/browser.test.mjs
	@echo "The site is in $(CURDIR)/site/dist. A browser needs it from a web server: npx --prefix site vitepress preview site"

site-check:
	@if command -v node >/dev/null 2>&1; then cd site && node --test --test-reporter=dot tests/; \
	else echo "site: SKIPPED: node is not installed"; fi

# Tests of the page need a browser. Continuous integration must have one.
chromium:
	@command -v $(CHROMIUM) >/dev/null 2>&1 || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null 2>&1 && apt-get update --quiet --quiet && \
	  apt-get install --yes --quiet --quiet --no-install-recommends chromium >/dev/null; \
	} || if [ -n "$$CI" ]; then \
	  echo "The tests of the playground need Chromium: install it, or set CHROMIUM=..."; exit 1; \
	else \
	  echo "playground: the tests in a browser are SKIPPED: $(CHROMIUM) is not installed"; \
	fi

# The simulator in the page beside the native one, the size of the page, and its frames per second.
bench-playground: playground
	$(CARGO) build --release --quiet --package goodqueue-wasm --example native
	cd playground && node bench.mjs $(abspath $(TARGET))/release/examples/native

# Installs cargo-deny into the target folder when it runs first.
supply-chain: toolchain
	@CARGO="$(CARGO)" PYTHON="$(PYTHON)" .ci/supply-chain $(abspath $(TARGET))/supply-chain

# With the oldest compilers that the manifests allow. Tests run with the newest one. Programs of others embed two of the
# crates, which therefore compile with an older one than the rest.
rust-version = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' $(1))
MSRV = $(call rust-version,Cargo.toml)
MSRV_EMBEDDED = $(call rust-version,crates/goodqueue/Cargo.toml)
EMBEDDED = --package goodqueue --package goodqueue-link --features goodqueue-link/std
MSRV_CHECK = check --locked --quiet --target-dir $(TARGET)/msrv
msrv: toolchain
	@for version in $(MSRV_EMBEDDED) $(MSRV); do rustup run $$version cargo --version >/dev/null 2>&1 || \
	  rustup toolchain install $$version --profile minimal || exit; done
	$(CARGO) +$(MSRV_EMBEDDED) $(MSRV_CHECK) $(EMBEDDED)
	$(CARGO) +$(MSRV) $(MSRV_CHECK) --workspace

# As `make test` runs it: the crates that programs depend on, if rustup can install these compilers.
MSRV_CRATES = goodqueue-tcp goodqueue-tcp-historic goodqueue-tc goodqueue-sim
msrv-check: toolchain
	@check() { \
	  version=$$1; shift; \
	  if rustup run $$version cargo --version >/dev/null 2>&1 || \
	    rustup toolchain install $$version --profile minimal >/dev/null 2>&1; then \
	    $(CARGO) +$$version $(MSRV_CHECK) "$$@"; \
	  else echo "oldest compiler: SKIPPED: rustup cannot install Rust $$version"; fi; }; \
	check $(MSRV_EMBEDDED) $(EMBEDDED) && check $(MSRV) $(MSRV_CRATES:%=--package %)

# What is left behind, and whether interrupted sweeps end with the same bytes.
kills: toolchain
	GOODQUEUE_KILLS=$(KILLS) $(CARGO) test --release --quiet --package goodqueue-cli --test killed --test live killed

models: toolchain
	MODELS=$(MODELS) $(CARGO) test --release --quiet --package goodqueue --test reference

# `make test` always uses the same cases (see .cargo/config.toml). PROPTEST_RNG_SEED=SEED cargo test repeats a failure.
random: toolchain
	@for round in $$(seq $(ROUNDS)); do \
	  export PROPTEST_RNG_SEED=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); \
	  echo "round $$round of $(ROUNDS): PROPTEST_RNG_SEED=$$PROPTEST_RNG_SEED"; \
	  $(CARGO) test --quiet --package goodqueue --test own --test invariants --test reference || exit 1; \
	  $(CARGO) test --quiet --package goodqueue-tcp --test tcp random || exit 1; \
	  $(CARGO) test --quiet --package goodqueue-tc --package goodqueue-scenario --lib || exit 1; \
	done

counts: toolchain
	@$(CARGO) build --release --quiet --package goodqueue-sim --example instructions
	@UPDATE=$(UPDATE) benches/count-instructions $${CARGO_TARGET_DIR:-target}/release/examples/instructions

# A simulation may not take more than 3 % more instructions per packet than the committed table says.
counts-check: toolchain
	@$(CARGO) build --release --quiet --package goodqueue-sim --example instructions
	@ONLY=simulation benches/count-instructions $${CARGO_TARGET_DIR:-target}/release/examples/instructions

build: toolchain
	@$(CARGO) build --release --locked $(QUIET) --package goodqueue-cli

# The command as the tests of the workspace have it, with the same features of all crates.
debug: toolchain
	@$(CARGO) test $(WORKSPACE) --no-run --quiet --test command

# Compiling takes minutes where nothing is compiled yet: say so before, and check now what would be missing at the end.
announce: toolchain
	@test -x $(GOODQUEUE) || { \
	  echo "goodqueue is compiled first, once: about four minutes on two processors."; \
	  echo "It needs Rust 1.88 or later, a C compiler to link, and a network for the crates of Cargo.lock."; \
	}
	@command -v $(LINKER) >/dev/null 2>&1 || { \
	  echo "Rust needs a C compiler to link, and $(LINKER) is not here: install gcc or clang (on Debian: apt install gcc), then run make again."; \
	  exit 1; }

format: toolchain
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path $(OWN)/Cargo.toml --check
	$(CARGO) fmt --manifest-path $(OWN_TRAFFIC)/Cargo.toml --check
	$(CARGO) fmt --manifest-path $(SERVER)/Cargo.toml --check
	$(CARGO) fmt --manifest-path $(TRANSPORTS)/Cargo.toml --check
	$(CARGO) fmt --manifest-path playground/bindgen/Cargo.toml --check
	@LC_ALL=C awk -f .ci/comment-width.awk $$(find crates examples fuzz python -name '*.rs' -not -path '*/target/*')

lint: toolchain
	$(CARGO) clippy $(WORKSPACE) --all-targets --quiet -- --deny warnings

docs: toolchain
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --workspace --no-deps --quiet

# Cargo joins the features of all packages that a command names, also those of other people's crates. A command that names
# fewer compiles most crates once more, so the parts of `make test` name the whole workspace where they can. Together its
# crates ask for every feature but these two.
WORKSPACE = --workspace --features goodqueue-quic/noq,goodqueue-cli/object-store

unit: toolchain
	$(CARGO) test $(WORKSPACE) --quiet

# A program outside the workspace, with a discipline of its own, and one that `goodqueue new-aqm` writes. They take the
# versions of this workspace's lock file, so that all share what they compile.
own-discipline: toolchain
	cp Cargo.lock $(OWN)/Cargo.lock
	$(CARGO) clippy --manifest-path $(OWN)/Cargo.toml --target-dir $(TARGET) --all-targets --quiet -- --deny warnings
	$(CARGO) test --manifest-path $(OWN)/Cargo.toml --target-dir $(TARGET) --quiet
	rm -rf $(TARGET)/new-aqm
	@$(MAKE) --no-print-directory debug
	$(TARGET)/debug/goodqueue new-aqm my_aqm --out $(TARGET)/new-aqm
	cp Cargo.lock $(TARGET)/new-aqm/Cargo.lock
	$(CARGO) test --manifest-path $(TARGET)/new-aqm/Cargo.toml --target-dir $(TARGET) --quiet

# A program outside the workspace, with a congestion controller and a traffic source of its own.
own-traffic: toolchain
	cp Cargo.lock $(OWN_TRAFFIC)/Cargo.lock
	$(CARGO) clippy --manifest-path $(OWN_TRAFFIC)/Cargo.toml --target-dir $(TARGET) --all-targets --quiet -- --deny warnings
	$(CARGO) test --manifest-path $(OWN_TRAFFIC)/Cargo.toml --target-dir $(TARGET) --quiet

# A front end with HTTP, outside the workspace. Its lock file begins as that of this workspace, and gets the crates for HTTP.
server: toolchain
	cp Cargo.lock $(SERVER)/Cargo.lock
	$(CARGO) clippy --manifest-path $(SERVER)/Cargo.toml --target-dir $(TARGET) --all-targets --quiet -- --deny warnings
	$(CARGO) test --manifest-path $(SERVER)/Cargo.toml --target-dir $(TARGET) --quiet

# Adaptors of other transports, outside the workspace. An older compiler cannot build them.
transports: toolchain
	@if [ -z "$$CI" ] && printf '%s\n1.91.0\n' "$$(rustc -V | cut -d ' ' -f 2)" | sort -V | head -n 1 | grep -qv 1.91.0; then \
	  echo "transports: SKIPPED: they need Rust 1.91"; \
	else \
	  cp Cargo.lock $(TRANSPORTS)/Cargo.lock && \
	  $(CARGO) clippy --manifest-path $(TRANSPORTS)/Cargo.toml --target-dir $(TARGET) --all-targets --quiet -- --deny warnings && \
	  $(CARGO) test --manifest-path $(TRANSPORTS)/Cargo.toml --target-dir $(TARGET) --quiet; \
	fi

# Every published crate as a package: complete metadata, and all files that it embeds. Building each package would
# compile every dependency once more, so only the lists of files are checked here; `make package-build` builds them.
package: toolchain
	$(CARGO) package --workspace $(UNPUBLISHED) --no-verify --allow-dirty --offline --quiet --target-dir $(TARGET)/package-check
	$(CARGO) test $(WORKSPACE) --quiet --test packages

package-build: toolchain
	$(CARGO) package --workspace $(UNPUBLISHED) --allow-dirty --offline --target-dir $(TARGET)/package-check

# The library in a program without the standard library: its own allocator and panic handler, nothing else.
no-std: toolchain
	$(CARGO) build --quiet --manifest-path crates/goodqueue/tests/no_std/Cargo.toml --target-dir $(TARGET)/no_std

# The main job once, as the README shows it.
demo-check: debug
	$(TARGET)/debug/goodqueue compare --report $(TARGET)/demo.html
	test -s $(TARGET)/demo.html

# The documentation at the top of the library's files, as the pages of `goodqueue explain`; and the catalogue of metrics,
# as a page of the book.
pages: toolchain
	UPDATE=1 $(CARGO) test --quiet --package goodqueue-cli --test pages --test metrics

# What these pages say of deviations and of the scenario format, as pages of the book.
deviations: pages build
	$(GOODQUEUE) explain --deviations > docs/DEVIATIONS.md
	$(GOODQUEUE) explain scenario > docs/scenarios.md

# docs/numbers.md, from new measurements: one to two hours of one processor. A claim that does not reproduce and a value
# that differs are results, not errors.
numbers: score validation recordings page

score: build
	for paper in $(PAPERS); do \
	  $(GOODQUEUE) reproduce $$paper --papers crates/goodqueue-papers/papers --out $(TARGET)/reproduce \
	    --json crates/goodqueue-papers/papers/$$paper/verdicts.json || test $$? -eq 1 || exit 1; \
	done

validation: build
	$(GOODQUEUE) validate --json docs/measured/validation.json || test $$? -eq 1

recordings: build
	$(GOODQUEUE) replay --compare --json docs/measured/replay.json crates/goodqueue-testkit/recordings*/*.jsonl.gz

page: toolchain
	UPDATE=1 $(CARGO) test --quiet --package goodqueue-papers --test audit
	UPDATE=1 $(CARGO) test --quiet --package goodqueue-cli --test numbers --test promised

# The pictures in the README: the report of the default comparison, and the playground, in a browser without a window.
screenshot: build playground
	cd playground && node screenshot.mjs ../docs/images/playground.png
	$(GOODQUEUE) compare --report report.html
	$(CHROMIUM) --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,900 \
	  --screenshot=docs/images/report.png file://$(CURDIR)/report.html
	rm report.html

.PHONY: dist deb image
# With the time of the last commit, so that the same sources give the same archive.
dist: toolchain
	@command -v rustup >/dev/null && rustup target add $(DIST_TARGET) || { \
	  echo "The target $(DIST_TARGET) of Rust is needed: install it with rustup target add, then run make dist again."; \
	  exit 1; }
	$(CARGO) build --release --locked --quiet --package goodqueue-cli --target $(DIST_TARGET)
	rm -rf $(DIST)/goodqueue
	packaging/layout $(TARGET)/$(DIST_TARGET)/release/goodqueue $(DIST)/goodqueue
	$(CARGO) tree --locked --package goodqueue-cli --edges normal --target $(DIST_TARGET) --prefix none --no-dedupe \
	  --format '{p} ({l}) {r}' | grep -v '(/' | sort -u > $(DIST)/goodqueue/THIRD-PARTY.txt
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$$(git log -1 --format=%ct) \
	  --transform 's,^goodqueue,goodqueue-$(VERSION)-$(DIST_TARGET),' --directory $(DIST) --create goodqueue \
	  | gzip --no-name > $(DIST)/goodqueue-$(VERSION)-$(DIST_TARGET).tar.gz
	@echo "$(DIST)/goodqueue-$(VERSION)-$(DIST_TARGET).tar.gz"

deb: dist
	@$(CARGO) deb --version >/dev/null 2>&1 || { \
	  echo "A Debian package needs cargo-deb: cargo install cargo-deb --locked, then run make deb again."; \
	  exit 1; }
	$(CARGO) deb --quiet --no-build --no-strip --package goodqueue-cli --target $(DIST_TARGET) --output $(DIST)/

image: dist
	docker build --tag goodqueue --file packaging/Dockerfile $(DIST)/goodqueue

install: announce
	$(CARGO) install --locked --path crates/goodqueue-cli

clean:
	$(CARGO) clean

toolchain:
	@command -v $(CARGO) >/dev/null 2>&1 || { \
	  echo "goodqueue is built with Rust 1.88 or later, which is not here: install it with rustup (see rustup.rs), then run make again."; \
	  exit 1; }
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 || \
	  rustup component add rustfmt clippy
