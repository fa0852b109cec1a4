# SPDX-License-Identifier: MIT OR Apache-2.0
# The verbs a person types. CMakePresets.json says what a build is;
# CMakeLists.txt says what is built; nothing is compiled by this file.

JOBS   ?= $(shell nproc)
PREFIX ?= /usr/local

.DEFAULT_GOAL := release
.PHONY: release dev test check-all attack bench bench-run bench-memory bench-overhead bench-machine diagnosis demo install uninstall format tidy clean help

release: ## build the library and the tools, optimized (what `make` does)
	@tools/install_deps build
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS)

dev: ## build with assertions and debug information
	@cmake --preset dev
	@cmake --build --preset dev -j $(JOBS)

test: ## install missing packages, build, run the tests (not the long ones)
	@tools/install_deps build test
	@tools/install_viewer
	@$(MAKE) --no-print-directory dev
	@tools/run_tests -j $(JOBS) build/dev -LE '^long$$'

check-all: ## every check: layers, format, tidy, sanitizers, valgrind, cross
	@tools/check_all

attack: dev ## attack the recorder as often as tests/attack/ATTACKS says (long)
	@tools/attack -j $(JOBS) build/dev/tests/attack

bench: release ## measure recording, trace files and exports; 1: a figure missed
	@rc=0; for part in axp_bench axp_bench_emit axp_bench_graph axp_bench_rules axp_bench_file axp_bench_tape; \
	do echo; echo "== $$part"; build/release/bench/$$part || rc=1; done; exit $$rc

bench-run: release ## measure what `axprof run` costs a program
	@bench/bench_run.py build/release

bench-memory: release ## measure what looking at a program's malloc costs it
	@bench/bench_memory.py build/release

bench-overhead: release ## compare what recording is stated to take with what it takes
	@bench/bench_overhead.py build/release

bench-machine: release ## compare measured peaks with other ways to know them
	@build/release/bench/axp_bench_machine

diagnosis: dev ## plant causes: what is found, and what fixing each really gains (long)
	@python3 tests/diagnosis/diagnosis.py --axprof build/dev/cli/axprof \
		--gpt build/dev/examples/gpt/gpt $$(find build/dev/tests/diagnosis \
		-maxdepth 1 -name 'diagnosis_*' -type f -perm -u+x | sort)

demo: release ## train a small GPT, show where its time goes, write profile.html
	@rm -rf build/demo
	@build/release/cli/axprof run --output build/demo/ -- \
		build/release/examples/gpt/gpt
	@build/release/cli/axprof report build/demo/*.axp -o profile.html
	@echo "profile.html shows the same with its timeline; open it in a browser:"
	@echo "  xdg-open $(CURDIR)/profile.html"

install: release ## install under PREFIX (/usr/local); DESTDIR is honoured
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

uninstall: ## remove what install put under PREFIX; DESTDIR is honoured
	@tools/uninstall "$(DESTDIR)$(PREFIX)"

format: ## let clang-format lay out every C file
	@tools/list_sources | xargs -r clang-format -i

tidy: ## run clang-tidy on src
	@tools/check_all tidy

clean: ## remove everything that was built
	@rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' \
		$(firstword $(MAKEFILE_LIST))
