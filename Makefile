# mcp-interposer: every target carries its line of help; `make help` prints them.
#
# One build directory for each way of compiling, so that objects never mix:
#   build/  build-asan/  build-fuzz/  build-cov/  ...   (`make BUILD=elsewhere` works too)
# and a stamp of the flags in each of them: another CFLAGS in the same directory rebuilds it.

VERSION := 0.1.0
BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= cc
CLANG   ?= clang

CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wformat=2 -Wstrict-prototypes \
           -Wmissing-prototypes -Wwrite-strings -Wcast-qual -Wvla -Wundef

# Hardening, for every build that optimizes (_FORTIFY_SOURCE needs it) and is not instrumented.
# -U first: Ubuntu's gcc defines _FORTIFY_SOURCE by itself, and two definitions are a warning.
HARDEN_CFLAGS  := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
HARDEN_LDFLAGS := -pie -Wl,-z,relro,-z,now
ifneq ($(filter -O0 -fsanitize=% --coverage,$(CFLAGS)),)
HARDEN_CFLAGS  :=
HARDEN_LDFLAGS :=
endif

# libev's macros type-pun its watchers: -fno-strict-aliasing.
ALL_CFLAGS  := -std=c11 -D_GNU_SOURCE -DMI_VERSION='"$(VERSION)"' -I. $(WARN) -fno-strict-aliasing \
               -fno-common $(HARDEN_CFLAGS) $(CFLAGS) $(EXTRA_CFLAGS)
ALL_LDFLAGS := $(HARDEN_LDFLAGS) -Wl,--as-needed $(LDFLAGS)
LIBS        := -lev -lsqlite3 -lpcre2-8 -linih

ROOMS   := base wire vault proxy replay cli
SRC     := $(wildcard $(ROOMS:%=%/*.c))
HDR     := $(wildcard $(ROOMS:%=%/*.h))
# The page of `export --format html` is kept as a page, and compiled as an array.
PAGE    := $(BUILD)/cli/report_page
OBJ     := $(SRC:%.c=$(BUILD)/%.o)
BIN     := $(BUILD)/mcp-interposer
# Everything but main() is one archive, which the unit tests link as well.
LIB     := $(BUILD)/libinterposer.a
LIBOBJ  := $(filter-out $(BUILD)/cli/main.o,$(OBJ)) $(PAGE).o

UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT     := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/unit/%)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ     := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)

# Seconds that `make fuzz` gives each fuzz target.
FUZZ_SECONDS ?= 60

# What `make check` and `make asan` run, in this order: quick ones first.
SUITES ?= house unit suite schema faults e2e stress sdk modern conformance

.PHONY: all
all: $(BIN) ## build build/mcp-interposer

# Rewritten only when the compiler or a flag differs from the last run in this directory, and not by
# `make -n` or `make -q`.
STAMP := $(BUILD)/flags
FLAGS_NOW := $(CC) | $(ALL_CFLAGS) | $(ALL_LDFLAGS) | $(LIBS)
LETTERS := $(filter-out --%,$(firstword -$(MAKEFLAGS)))
DRY := $(findstring n,$(LETTERS))$(findstring q,$(LETTERS))
ifneq ($(if $(DRY),,$(filter-out clean help fmt tidy uninstall hooks fakes,$(or $(MAKECMDGOALS),all))),)
ifneq ($(file <$(STAMP)),$(FLAGS_NOW))
$(shell mkdir -p $(BUILD))
$(file >$(STAMP),$(FLAGS_NOW))
endif
endif
$(STAMP):

$(BIN): $(BUILD)/cli/main.o $(LIB)
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDFLAGS) $(LIBS)

$(LIB): $(LIBOBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/%.o: %.c $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(PAGE).c: cli/report.html
	@mkdir -p $(@D)
	@{ echo '#include "cli/report.h"'; echo 'const char report_page[] = {'; \
	  od -A n -v -t d1 $< | sed 's/  *\([-0-9][0-9]*\)/\1,/g'; echo '};'; \
	  echo 'const size_t report_page_n = sizeof report_page;'; } >$@

$(PAGE).o: $(PAGE).c $(STAMP)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# WRAP_test_x := malloc write   lets tests/unit/test_x.c define __wrap_malloc and __wrap_write.
WRAP_test_backlog := malloc
WRAP_test_buf  := realloc
WRAP_test_line := malloc realloc
WRAP_test_outbox  := malloc
WRAP_test_pending := malloc calloc realloc
WRAP_test_keep    := realloc
WRAP_test_actions := realloc clock_wall_us
WRAP_test_recorder := malloc realloc clock_mono_us
WRAP_test_relay := malloc realloc
WRAP_test_room  := realloc
WRAP_test_stage_memory := malloc calloc realloc
WRAP_test_wrap := calloc realloc strdup
$(BUILD)/unit/%: tests/unit/%.c $(LIB) $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(LIB) $(ALL_LDFLAGS) $(WRAP_$*:%=-Wl,--wrap=%) \
	  -lcmocka $(LIBS)

$(BUILD)/fuzz/%: tests/fuzz/%.c $(LIB) $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -MMD -MP -o $@ $< $(LIB) $(ALL_LDFLAGS) $(LIBS)

JUDGE := $(BUILD)/suite/judge
$(JUDGE): tests/suite/judge.c $(LIB) $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(LIB) $(ALL_LDFLAGS) $(LIBS)

SCHEMA_JUDGE := $(BUILD)/schema/judge
$(SCHEMA_JUDGE): tests/schema/judge.c $(LIB) $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(LIB) $(ALL_LDFLAGS) $(LIBS)

# Programs that measure parts of the interposer from the inside.
PARTS := $(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/parts/*.c))
$(PARTS): $(BUILD)/%: tests/%.c $(LIB) $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(LIB) $(ALL_LDFLAGS) $(LIBS)

# A session in which the N-th call fails; what it stands in for is wrapped, or has the names of libc's.
FAULTS := $(BUILD)/faults/session
FAULTS_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/faults/*.c))
FAULTS_WRAP := calloc clock_mono_us free malloc realloc recorder_add strdup uid_make
$(FAULTS): $(FAULTS_OBJ) $(LIB) $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $(FAULTS_OBJ) $(LIB) $(ALL_LDFLAGS) $(FAULTS_WRAP:%=-Wl,--wrap=%) $(LIBS)

# Fake servers, fake clients and the load generator: programs of one file, without our library and
# without sanitizers, so that they are quick and a report is always about the interposer.
HELPER := $(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/fakes/*.c tests/bench/*.c))
HELPER_CFLAGS := -std=c11 -D_GNU_SOURCE -I. $(WARN) -O2 -g $(EXTRA_CFLAGS)

$(HELPER): $(BUILD)/%: tests/%.c $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(HELPER_CFLAGS) -MMD -MP -o $@ $<

.PHONY: fakes
fakes: $(filter $(BUILD)/fakes/%,$(HELPER))

-include $(OBJ:.o=.d) $(PAGE).d $(UNIT:%=%.d) $(FUZZ:%=%.d) $(JUDGE).d $(SCHEMA_JUDGE).d $(PARTS:%=%.d) \
  $(FAULTS_OBJ:.o=.d) $(HELPER:%=%.d)

# All that is compiled for tests, run or not.
.PHONY: tests
tests: $(UNIT) $(JUDGE) $(SCHEMA_JUDGE) $(PARTS) $(FAULTS) $(HELPER)

.PHONY: unit
unit: $(UNIT) ## unit tests only
	@scripts/run-tests $(BUILD) unit

.PHONY: faults
faults: $(FAULTS) ## a session in which the N-th call fails, for every N
	@TEST_BUILD=$(abspath $(BUILD)) tests/faults/run --all

.PHONY: stress
stress: $(BIN) fakes ## 1,000 sessions with random faults, other ones each time; at most 10 minutes
	@MCP_INTERPOSER=$(abspath $(BIN)) TEST_BUILD=$(abspath $(BUILD)) \
	  tests/stress/run --sessions 1000 --seconds 600 --seed random

.PHONY: check
check: $(BIN) tests ## all tests; ends with "N passed, N failed"
	@scripts/run-tests $(BUILD) $(SUITES)

.PHONY: asan
asan: ## all tests under AddressSanitizer and UBSan
	$(MAKE) BUILD=$(BUILD)-asan TEST_UNDER=asan CFLAGS='-O1 -g -fno-omit-frame-pointer \
	  -fsanitize=address,undefined -fno-sanitize-recover=all' check

# The end-to-end files that take no notice of valgrind. Others do: it makes a fork of a vfork, opens
# descriptors and sets variables of its own, and is too slow for a hundred thousand messages.
VALGRIND_E2E ?= 02-checks 03-validate 08-stderr 09-record

.PHONY: valgrind
valgrind: $(BIN) tests ## unit tests and some end-to-end runs in valgrind
	@TEST_UNDER=valgrind E2E_ONLY='$(VALGRIND_E2E)' scripts/run-tests $(BUILD) unit e2e

.PHONY: tidy
tidy: ## clang-tidy, cppcheck, gcc -fanalyzer, shellcheck, format, layers
	@BUILD=$(BUILD)-tidy scripts/tidy

.PHONY: fmt
fmt: ## format the C sources in place
	clang-format -i $(SRC) $(HDR) $(wildcard tests/*/*.c tests/*/*.h)

.PHONY: fuzz
fuzz: ## fuzz each tests/fuzz/fuzz_*.c for FUZZ_SECONDS (60)
	@$(MAKE) BUILD=$(BUILD)-fuzz CC='$(CLANG)' CFLAGS='-O1 -g -fno-omit-frame-pointer \
	  -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all' fuzz-run

# Seeds come from tests/fuzz/corpus/NAME; what a run finds stays in the build directory.
.PHONY: fuzz-run
fuzz-run: $(FUZZ)
	@test -n '$(FUZZ)' || { echo 'fuzz: no tests/fuzz/fuzz_*.c' >&2; exit 1; }
	@set -e; for f in $(FUZZ); do n=$${f##*/fuzz_}; \
	  seeds=$$(ls -d tests/fuzz/corpus/$$n 2>/dev/null || :); \
	  dict=$$(ls tests/fuzz/$$n.dict 2>/dev/null | sed 's/^/-dict=/' || :); \
	  mkdir -p $(BUILD)/corpus/$$n; \
	  echo "fuzz: $$n for $(FUZZ_SECONDS) s"; \
	  $$f -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -timeout=10 \
	    -artifact_prefix=$(BUILD)/$$n- $$dict $(BUILD)/corpus/$$n $$seeds; \
	done; echo 'fuzz: no finding'

.PHONY: bench
bench: $(BIN) $(filter $(BUILD)/bench/%,$(HELPER)) ## measure against cat; needs a quiet machine
	BUILD=$(BUILD) MCP_INTERPOSER=$(BIN) scripts/bench
	BUILD=$(BUILD) MCP_INTERPOSER=$(BIN) scripts/bench-replay
	@$(MAKE) -s bench-parts

.PHONY: bench-parts
bench-parts: $(PARTS) ## measure the parts of a message's way, and the sanitizer alone
	@dir=$$(mktemp -d) && { rc=0; for p in $(PARTS); do $$p "$$dir" && echo || { rc=$$?; break; }; done; \
	  rm -rf "$$dir"; exit $$rc; }

.PHONY: cov
cov: ## line coverage of all tests, a line per source file
	@$(MAKE) BUILD=$(BUILD)-cov TEST_UNDER=cov CFLAGS='-O0 -g --coverage' cov-run

.PHONY: cov-run
cov-run: $(BIN) tests
	@find $(BUILD) -name '*.gcda' -delete
	@rc=0; scripts/run-tests $(BUILD) $(SUITES) || rc=$$?; \
	gcov -n $(OBJ) 2>/dev/null | awk -v rooms='$(ROOMS)' ' \
	  BEGIN { n = split(rooms, r, " "); for (i = 1; i <= n; i++) room[r[i]] = 1 } \
	  /^File / { gsub(/\x27/, "", $$2); split($$2, p, "/"); f = room[p[1]] ? $$2 : "" } \
	  /^Lines executed:/ && f { sub(/.*executed:/, ""); pct = $$1 + 0; lines = $$3; \
	    printf "%6.1f%% of %5d  %s\n", pct, lines, f; t += lines; h += pct * lines / 100; f = "" } \
	  END { if (t) printf "%6.1f%% of %5d  all\n", 100 * h / t, t }'; exit $$rc

# Where the shells look by themselves, below PREFIX/share.
BASH_COMPLETION := bash-completion/completions/mcp-interposer
ZSH_COMPLETION  := zsh/site-functions/_mcp-interposer
FISH_COMPLETION := fish/vendor_completions.d/mcp-interposer.fish
COMPLETIONS     := $(dir $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION))

.PHONY: install
install: $(BIN) ## copy the program, its man page and completions below PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(COMPLETIONS:%=$(DESTDIR)$(PREFIX)/share/%)
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/mcp-interposer
	install -m 644 docs/mcp-interposer.1 $(DESTDIR)$(PREFIX)/share/man/man1/mcp-interposer.1
	$(BIN) completion bash >$(DESTDIR)$(PREFIX)/share/$(BASH_COMPLETION)
	$(BIN) completion zsh >$(DESTDIR)$(PREFIX)/share/$(ZSH_COMPLETION)
	$(BIN) completion fish >$(DESTDIR)$(PREFIX)/share/$(FISH_COMPLETION)

.PHONY: uninstall
uninstall: ## remove what install copied
	rm -f $(DESTDIR)$(PREFIX)/bin/mcp-interposer
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/mcp-interposer.1
	rm -f $(DESTDIR)$(PREFIX)/share/$(BASH_COMPLETION) $(DESTDIR)$(PREFIX)/share/$(ZSH_COMPLETION)
	rm -f $(DESTDIR)$(PREFIX)/share/$(FISH_COMPLETION)

.PHONY: hooks
hooks: ## check each commit in this clone before it is made
	ln -sf "$$(pwd)/scripts/pre-commit" "$$(git rev-parse --git-path hooks)/pre-commit"

.PHONY: compdb
compdb: ## compile_commands.json for editors, by bear
	rm -rf $(BUILD)-compdb
	bear -- $(MAKE) BUILD=$(BUILD)-compdb all tests

.PHONY: clean
clean: ## remove everything built
	rm -rf $(BUILD) $(addprefix $(BUILD)-,asan tidy fuzz cov compdb)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
