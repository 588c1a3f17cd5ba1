# goodqueue: `make demo` shows the main job, `make test` runs everything that CI runs.

CARGO ?= cargo
REPORT ?= goodqueue-report.html
GOODQUEUE = target/release/goodqueue

.PHONY: demo test bench build format lint docs unit no-std demo-check install clean toolchain help

help:
	@echo "make demo     build goodqueue, compare six queue disciplines, write $(REPORT)"
	@echo "make test     everything that CI runs: format, lints, docs, tests, no_std build, the demo"
	@echo "make bench    speed of the simulator and of each discipline, memory of a run"
	@echo "make install  put the goodqueue command into ~/.cargo/bin"

demo: build
	@$(GOODQUEUE) compare --report $(REPORT)
	@echo
	@echo "The report is at $(CURDIR)/$(REPORT): open it in a browser."

test: format lint docs unit no-std demo-check

bench: build
	$(CARGO) bench --quiet --package goodqueue --bench disciplines
	$(CARGO) bench --quiet --package goodqueue-sim --bench simulator

build: toolchain
	@$(CARGO) build --release --quiet --package goodqueue-cli

format: toolchain
	$(CARGO) fmt --all --check

lint: toolchain
	$(CARGO) clippy --workspace --all-targets --quiet -- --deny warnings

docs: toolchain
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --workspace --no-deps --quiet

unit: toolchain
	$(CARGO) test --workspace --quiet

# The library in a program without the standard library: its own allocator and panic handler, nothing else.
no-std: toolchain
	$(CARGO) build --quiet --manifest-path crates/goodqueue/tests/no_std/Cargo.toml --target-dir target/no_std

# The main job once, as the README shows it; and the same bytes from the debug and the release build.
demo-check: build
	$(CARGO) build --quiet --package goodqueue-cli
	$(GOODQUEUE) compare --json target/demo.json --report target/demo.html
	target/debug/goodqueue compare --json target/demo-debug.json >/dev/null
	cmp target/demo.json target/demo-debug.json
	test -s target/demo.html

install:
	$(CARGO) install --path crates/goodqueue-cli

clean:
	$(CARGO) clean

toolchain:
	@command -v $(CARGO) >/dev/null 2>&1 || { \
	  echo "goodqueue is built with Rust 1.88 or later, which is not here: install it with rustup (see rustup.rs), then run make again."; \
	  exit 1; }
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 || \
	  rustup component add rustfmt clippy
