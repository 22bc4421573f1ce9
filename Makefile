# mcp-interposer: `make help` lists the targets, from the `##` comments.
#
# Each kind of build has its own directory, so that objects never mix:
#   build/  build-asan/  build-fuzz/  build-cov/  ...   (`make BUILD=elsewhere` works too)
# A stamp in each of them holds the flags: changed CFLAGS rebuild everything.

# Without its implicit rules, make reads this file in a fifth of the time.
MAKEFLAGS += --no-builtin-rules

VERSION := $(file <VERSION)
BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= cc
CLANG   ?= clang

CFLAGS  ?= -O2 -g
# -Wno-missing-field-initializers: clang, and gcc before 12, also warn after designated initializers.
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wformat=2 -Wstrict-prototypes \
           -Wmissing-prototypes -Wwrite-strings -Wcast-qual -Wvla -Wundef -Wdate-time -Wno-missing-field-initializers

# Hardening, except for instrumented builds and -O0 (_FORTIFY_SOURCE needs optimization).
# -U first: Ubuntu's gcc predefines _FORTIFY_SOURCE, and a second definition is a warning.
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
LIBS        := -lev -lsqlite3 -lpcre2-8 -lyaml -lseccomp -lncursesw -ltinfo -lsodium -lnettle -lm

ROOMS   := base report wire evidence redact model show journal vault record peer proxy replay cli
# The folder below base/os/ that has the code for this system.
SYSTEM  := $(shell uname -s | tr A-Z a-z)
ifeq ($(wildcard base/os/$(SYSTEM)),)
$(error mcp-interposer runs on Linux only. docs/porting.md describes what base/os/$(SYSTEM) must provide)
endif
SYSTEM_SRC := $(wildcard base/os/$(SYSTEM)/*.c)
# What ship/ has without libpq and libcurl, for the unit tests.
SHIP_PURE := $(sort $(wildcard ship/outbox/*.c)) ship/postgres/array.c ship/shards/shard_list.c ship/otlp/url.c ship/otlp/http_verdict.c ship/otlp/session_walk.c
SRC     := $(sort $(shell find $(wildcard $(ROOMS)) -name '*.c' -not -path 'base/os/*/*') $(SYSTEM_SRC) $(SHIP_PURE))
HDR     := $(sort $(shell find $(wildcard $(ROOMS)) -name '*.h'))
# Files that are compiled into the program as arrays: FILE|HEADER|NAME.
EMBED   := cli/export/report.html|cli/export/report.h|report_page \
           cli/mcp/tools.json|cli/mcp/definitions.h|mcp_definitions \
           $(foreach s,bash zsh fish,cli/complete/$s.sh|cli/complete/scripts.h|completion_$s)
EMBED_OBJ := $(foreach e,$(EMBED),$(BUILD)/embed/$(lastword $(subst |, ,$e)).o)
OBJ     := $(SRC:%.c=$(BUILD)/%.o)
BIN     := $(BUILD)/mcp-interposer
# The same program, without shared libraries.
STATIC  := $(BUILD)/static/mcp-interposer
STATIC_OBJ := $(BUILD)/packaging/static/dlopen.o
# mcp-interposer-ship: the same library, and ship/, which needs libpq and libcurl. `make` alone builds without it.
SHIP    := $(BUILD)/mcp-interposer-ship
SHIP_SRC := $(filter-out $(SHIP_PURE),$(sort $(shell find ship -name '*.c')))
SHIP_HDR := $(sort $(shell find ship -name '*.h'))
SHIP_EMBED := $(foreach s,begin schema calls functions views operations reading,ship/postgres/$s.sql|ship/postgres/schema.h|$s_sql) \
           $(foreach s,router shard share catalogue,ship/shards/$s.sql|ship/shards/sql.h|$s_sql)
SHIP_EMBED_OBJ := $(foreach e,$(SHIP_EMBED),$(BUILD)/embed/$(lastword $(subst |, ,$e)).o)
SHIP_OBJ := $(SHIP_SRC:%.c=$(BUILD)/%.o)
PG_CFLAGS ?= $(shell pkg-config --cflags libpq 2>/dev/null)
PG_LIBS  ?= $(or $(shell pkg-config --libs libpq 2>/dev/null),-lpq)
CURL_CFLAGS ?= $(shell pkg-config --cflags libcurl 2>/dev/null)
CURL_LIBS ?= $(or $(shell pkg-config --libs libcurl 2>/dev/null),-lcurl)
# SHIP_STATIC=yes, for its Debian package: only the C library and the libraries of the network are shared. No other library
# sees the functions of those that are linked in.
comma := ,
SHIP_LIBS := $(if $(SHIP_STATIC),-Wl$(comma)--exclude-libs$(comma)ALL$(comma)-Bstatic $(filter-out -lm,$(LIBS)) -Wl$(comma)-Bdynamic -lm,$(LIBS))
PG_HEADER := $(wildcard $(addsuffix /libpq-fe.h,$(patsubst -I%,%,$(filter -I%,$(PG_CFLAGS))) /usr/include))
CURL_HEADER := $(wildcard $(addsuffix /curl/curl.h,$(patsubst -I%,%,$(filter -I%,$(CURL_CFLAGS))) /usr/include /usr/include/*-linux-gnu))
SHIP_READY := $(and $(PG_HEADER),$(CURL_HEADER))
# What only the program has: main() and the commit.
MAIN    := $(BUILD)/cli/main.o $(BUILD)/embed/commit.o
# Everything else; the unit tests link it too.
LIB     := $(BUILD)/libinterposer.a
LIBOBJ  := $(filter-out $(MAIN),$(OBJ)) $(EMBED_OBJ)

# cmocka programs: pure code in tests/unit; code that uses files, pipes or processes in tests/integration.
UNIT_SRC := $(sort $(wildcard tests/unit/*/test_*.c tests/integration/*/test_*.c))
UNIT     := $(UNIT_SRC:tests/%.c=$(BUILD)/%)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ     := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)

FAULTS_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/faults/*.c))

# Seconds that `make fuzz` gives each fuzz target.
FUZZ_SECONDS ?= 60

# The suites of `make check` and `make asan`, in the order in which they are started: the slowest first.
SUITES ?= e2e ship sdk dist faults context npm evidence integration conformance stress repo compat unit revision-2026 odd schema-suite json-suite

.PHONY: all
all: $(BIN) ## build build/mcp-interposer

# The stamp is rewritten only when the compiler or a flag has changed, and never by `make -n` or `make -q`; so is the
# file with the commit: a new commit compiles that file and links the program, and nothing else.
# `make install` installs the existing build, whatever its flags.
STAMP := $(BUILD)/flags
FLAGS_NOW := $(CC) | $(ALL_CFLAGS) | $(ALL_LDFLAGS) | $(LIBS)
COMMIT := $(BUILD)/embed/commit.c
define COMMIT_NOW
#include "cli/version.h"
const char version_commit[] = "$(shell packaging/commit)";
endef
LETTERS := $(filter-out --%,$(firstword -$(MAKEFLAGS)))
DRY := $(findstring n,$(LETTERS))$(findstring q,$(LETTERS))
ifneq ($(if $(DRY),,$(filter-out clean dist deb npm oci install-check install-ship help fmt tidy uninstall hooks fakes clang-warnings $(if $(PROGRAM)$(wildcard $(STAMP)),install),$(or $(MAKECMDGOALS),all))),)
ifneq ($(file <$(STAMP)),$(FLAGS_NOW))
$(shell mkdir -p $(BUILD))
$(file >$(STAMP),$(FLAGS_NOW))
endif
# Once, and not for each object.
$(shell mkdir -p $(sort $(dir $(OBJ) $(SHIP_OBJ) $(FAULTS_OBJ) $(COMMIT) $(STATIC_OBJ))))
ifneq ($(file <$(COMMIT)),$(COMMIT_NOW))
$(file >$(COMMIT),$(COMMIT_NOW))
endif
endif
$(STAMP) $(COMMIT):

$(BIN): $(MAIN) $(LIB)
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDFLAGS) $(LIBS)

# A warning of the linker is an error: it says that a function of libc.a needs shared libraries.
$(STATIC): $(MAIN) $(STATIC_OBJ) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDFLAGS) -static-pie -Wl,--wrap=dlopen,--fatal-warnings $(LIBS)

$(SHIP): $(SHIP_OBJ) $(SHIP_EMBED_OBJ) $(BUILD)/embed/commit.o $(LIB)
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDFLAGS) $(SHIP_LIBS) $(PG_LIBS) $(CURL_LIBS)

$(BUILD)/ship/postgres/connection.o $(BUILD)/ship/postgres/hosts.o $(BUILD)/ship/postgres/address.o: LIBRARY_CFLAGS := $(PG_CFLAGS)
$(BUILD)/ship/otlp/post.o: LIBRARY_CFLAGS := $(CURL_CFLAGS)

.PHONY: ship
ship: $(BIN) $(SHIP) ## build build/mcp-interposer-ship, which needs libpq-dev and libcurl4-openssl-dev

.PHONY: static
static: $(STATIC) ## build build/static/mcp-interposer, which needs no shared libraries

$(LIB): $(LIBOBJ)
	@rm -f $@
	$(AR) rcsD $@ $^

$(BUILD)/%.o: %.c $(STAMP)
	$(CC) $(ALL_CFLAGS) $(LIBRARY_CFLAGS) -MMD -MP -c -o $@ $<

# $1: the file, $2: the header that declares the array, $3: its name
define EMBED_RULE
$(BUILD)/embed/$3.c: $1
	@mkdir -p $$(@D)
	@{ echo '#include "$2"'; echo 'const char $3[] = {'; \
	  od -A n -v -t o1 $$< | sed "s/ *\([0-7][0-7]*\)/'\\\\\1',/g"; echo '};'; \
	  echo 'const size_t $3_n = sizeof $3;'; } >$$@
endef
$(foreach e,$(EMBED) $(SHIP_EMBED),$(eval $(call EMBED_RULE,$(word 1,$(subst |, ,$e)),$(word 2,$(subst |, ,$e)),$(word 3,$(subst |, ,$e)))))

$(EMBED_OBJ) $(SHIP_EMBED_OBJ) $(COMMIT:.c=.o): %.o: %.c $(STAMP)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# WRAP_test_x := malloc write   lets test_x.c define __wrap_malloc and __wrap_write.
WRAP_test_recorder_room := fork process_run_recorder
WRAP_test_buf  := realloc
WRAP_test_line := malloc realloc
WRAP_test_outbox  := malloc
WRAP_test_traffic_memory := malloc
WRAP_test_pending := malloc calloc realloc
WRAP_test_sanitize := realloc
WRAP_test_log_directory := realloc clock_wall_us
WRAP_test_relay := malloc realloc
WRAP_test_ring := fallocate
WRAP_test_uid  := getentropy
WRAP_test_ring_damage := fallocate
WRAP_test_grow  := realloc
WRAP_test_reserve := realloc
WRAP_test_json_out := realloc
WRAP_test_conversation_memory := malloc calloc realloc
WRAP_test_wrap := calloc realloc strdup
# FLAGS_test_x := more flags of the compiler.
FLAGS_test_ring_threads := -pthread
# Unit tests are not optimized: compiling takes longer than running them.
TEST_CFLAGS := $(filter-out $(HARDEN_CFLAGS),$(ALL_CFLAGS)) -fPIE -O0
# In two steps: a compiler cache does not have results of the linker.
$(UNIT:%=%.o): $(BUILD)/%.o: tests/%.c $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(TEST_CFLAGS) $(FLAGS_$(*F)) -MMD -MP -c -o $@ $<
$(UNIT): %: %.o $(LIB)
	$(CC) $(TEST_CFLAGS) $(FLAGS_$(@F)) -o $@ $< $(LIB) $(ALL_LDFLAGS) $(WRAP_$(@F):%=-Wl,--wrap=%) -lcmocka $(LIBS)

WRAP_fuzz_hostile := malloc calloc realloc free
$(BUILD)/fuzz/%: tests/fuzz/%.c $(LIB) $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -MMD -MP -o $@ $< $(LIB) $(ALL_LDFLAGS) $(WRAP_$(@F):%=-Wl,--wrap=%) $(LIBS)

JSON_JUDGE := $(BUILD)/json-suite/judge
$(JSON_JUDGE): tests/json-suite/judge.c $(LIB) $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(LIB) $(ALL_LDFLAGS) $(LIBS)

SCHEMA_JUDGE := $(BUILD)/schema-suite/judge
$(SCHEMA_JUDGE): tests/schema-suite/judge.c $(LIB) $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(LIB) $(ALL_LDFLAGS) $(LIBS)

# The query that a search asks the central store.
TSQUERY := $(BUILD)/ship-suite/tsquery
$(TSQUERY): tests/ship/tsquery.c $(LIB) $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(LIB) $(ALL_LDFLAGS) $(LIBS)

# Benchmarks of single parts, linked with the library.
PARTS := $(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/bench/parts/*.c))
$(PARTS): $(BUILD)/%: tests/%.c $(LIB) $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(LIB) $(ALL_LDFLAGS) $(LIBS)

# A session in which the N-th call fails. Functions are replaced by --wrap, or by definitions with libc's names.
FAULTS := $(BUILD)/faults/session
FAULTS_WRAP := calloc clock_mono_us free malloc realloc strdup strndup uid_make worker_close worker_kill worker_start \
  worker_wait_for_reports worker_wake
$(FAULTS): $(FAULTS_OBJ) $(LIB) $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $(FAULTS_OBJ) $(LIB) $(ALL_LDFLAGS) $(FAULTS_WRAP:%=-Wl,--wrap=%) $(LIBS)

# For LD_PRELOAD: allocations, or calls on files, that fail at random.
FAULTS_PRELOAD := $(BUILD)/faults/alloc.so $(BUILD)/faults/calls.so
$(FAULTS_PRELOAD): $(BUILD)/faults/%.so: tests/faults/preload/%.c $(STAMP)
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -g $(EXTRA_CFLAGS) -shared -fPIC -o $@ $<

# Fake servers and the load generator: one file each, without the library and without sanitizers, so that
# they are fast and every sanitizer report is about the interposer.
HELPER := $(patsubst tests/%.c,$(BUILD)/%,$(wildcard tests/fakes/*.c tests/bench/*.c))
HELPER_CFLAGS := -std=c11 -D_GNU_SOURCE -I. $(WARN) -O2 -g $(EXTRA_CFLAGS)

$(HELPER): $(BUILD)/%: tests/%.c $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(HELPER_CFLAGS) -MMD -MP -o $@ $<

.PHONY: fakes
fakes: $(filter $(BUILD)/fakes/%,$(HELPER))

-include $(OBJ:.o=.d) $(SHIP_OBJ:.o=.d) $(SHIP_EMBED_OBJ:.o=.d) $(COMMIT:.c=.d) $(EMBED_OBJ:.o=.d) $(UNIT:%=%.d) $(FUZZ:%=%.d) $(JSON_JUDGE).d $(SCHEMA_JUDGE).d $(TSQUERY).d $(PARTS:%=%.d) $(TSAN).d \
  $(FAULTS_OBJ:.o=.d) $(HELPER:%=%.d)

# Everything that is compiled for tests.
.PHONY: tests
tests: $(UNIT) $(JSON_JUDGE) $(SCHEMA_JUDGE) $(TSQUERY) $(PARTS) $(FAULTS) $(FAULTS_PRELOAD) $(HELPER)

.PHONY: unit
unit: $(UNIT) ## unit and integration tests only
	@scripts/run-tests $(BUILD) unit integration

.PHONY: faults
faults: $(BIN) fakes $(FAULTS) $(FAULTS_PRELOAD) ## a session in which the N-th call fails, for every N
	@TEST_BUILD=$(abspath $(BUILD)) tests/faults/run --all

# make evidence-histories SEED=random
SEED ?= 1
.PHONY: evidence-histories
evidence-histories: $(BIN) fakes ## 1000 histories of recordings, crashes, redactions and prunes: none is called tampered
	@TEST_BUILD=$(abspath $(BUILD)) MCP_INTERPOSER=$(abspath $(BIN)) tests/evidence/histories.py --n 1000 --seed $(SEED)

# Of `make chaos`. SHARDS: 0 is one server with a standby.
MINUTES ?= 10
VAULTS  ?= 20
SHARDS  ?= 0
.PHONY: chaos
chaos: ship ## ten minutes of kills at random in a fleet; then each message must be in the store exactly once
	@MCP_INTERPOSER=$(abspath $(BIN)) TEST_BUILD=$(abspath $(BUILD)) \
	  tests/ship/chaos --minutes $(MINUTES) --vaults $(VAULTS) --seed $(SEED) --shards $(SHARDS)

# The static programs of a release (docs/install.md), and the folder that they go to.
TARGETS ?= linux-x64 linux-arm64
DIST    ?= dist

.PHONY: dist
dist: ## static programs for TARGETS (linux-x64 linux-arm64), and their SHA256SUMS, in dist/
	@DIST='$(DIST)' BUILD='$(BUILD)-dist' packaging/static/build $(TARGETS)

.PHONY: deb
deb: dist ## Debian packages of the programs of dist/
	@DIST='$(DIST)' BUILD='$(BUILD)-dist' packaging/deb/build $(TARGETS) $(if $(SHIP_READY),ship)
	$(if $(SHIP_READY),,@echo 'deb: mcp-interposer-ship is left out: it needs libpq-dev and libcurl4-openssl-dev' >&2)

.PHONY: npm
npm: dist ## the packages for npm, from the static programs for TARGETS, in dist/npm/
	@packaging/npm/build --out '$(DIST)/npm' $(foreach t,$(TARGETS),'$t=$(DIST)/mcp-interposer-$(VERSION)-$t')
	@packaging/sums '$(DIST)'

.PHONY: oci
oci: dist ## a container image of the programs of dist/
	@DIST='$(DIST)' packaging/oci/build $(TARGETS)

.PHONY: dist-check
dist-check: dist fakes ## all tests of the program with the static ones; those of another processor in qemu
	@DIST='$(DIST)' BUILD='$(BUILD)-dist' FAKES='$(BUILD)/fakes' packaging/static/check $(TARGETS)

# As tests/dist/walk names them.
WAYS ?= static musl npm npm-server npm-bookworm gitlab bookworm trixie bookworm/arm64

.PHONY: install-check
install-check: deb npm ## install in new roots as README says, use it, and remove it; as root. WAYS: which ways
	@DIST='$(DIST)' BUILD='$(BUILD)-dist' tests/dist/walk $(WAYS)

.PHONY: stress
stress: $(BIN) fakes ## 1,000 sessions with random faults and a random seed; at most 10 minutes
	@MCP_INTERPOSER=$(abspath $(BIN)) TEST_BUILD=$(abspath $(BUILD)) \
	  tests/stress/run --sessions 1000 --seconds 600 --seed random

# Rounds of `make kills`.
ROUNDS ?= 2000

.PHONY: kills
kills: $(BIN) fakes ## kill -9 of the proxy and the recorder at random moments under load, ROUNDS (2000) times
	@MCP_INTERPOSER=$(abspath $(BIN)) TEST_BUILD=$(abspath $(BUILD)) tests/stress/kills.py --rounds $(ROUNDS)

# Everything that `make check` needs.
.PHONY: check-build
check-build: $(BIN) $(if $(SHIP_READY),$(SHIP)) tests

.PHONY: check
check: check-build ## all tests; ends with "N passed, N failed"
	@scripts/run-tests $(TEST_OPTIONS) $(BUILD) $(SUITES)

SAN_CFLAGS := -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all

.PHONY: asan
asan: ## all tests under AddressSanitizer and UBSan
	$(MAKE) BUILD=$(BUILD)-asan TEST_UNDER=asan CFLAGS='$(SAN_CFLAGS) -fsanitize=address,undefined' check

# The program has no threads: two threads stand for the two processes that share a journal.
.PHONY: tsan
tsan: ## the journal's ring, used by two threads, under ThreadSanitizer
	@$(MAKE) -s BUILD=$(BUILD)-tsan CFLAGS='-O1 -g -fsanitize=thread' tsan-run

TSAN := $(BUILD)/tsan/test_ring_threads
TSAN_OBJ := $(BUILD)/journal/ring.o $(BUILD)/journal/steps.o $(BUILD)/base/os/$(SYSTEM)/memory.o
$(TSAN): tests/integration/journal/test_ring_threads.c $(TSAN_OBJ) $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -pthread -MMD -MP -o $@ $< $(TSAN_OBJ) $(ALL_LDFLAGS) -lcmocka

# ThreadSanitizer of older compilers does not start where addresses are random in more than 28 bits.
.PHONY: tsan-run
tsan-run: $(TSAN)
	@fixed=; if setarch -R true 2>/dev/null; then fixed='setarch -R'; fi; $$fixed $(TSAN)

# The end-to-end files that work under valgrind. It turns vfork into fork, opens descriptors and sets
# variables of its own, and is too slow for 100,000 messages.
VALGRIND_E2E ?= 02-checks 03-validate 08-stderr 09-record

.PHONY: valgrind
valgrind: $(BIN) tests ## unit tests and some end-to-end runs in valgrind
	@TEST_UNDER=valgrind E2E_ONLY='$(VALGRIND_E2E)' scripts/run-tests $(BUILD) unit integration e2e

# clang has other warnings than gcc. Its start takes longer than reading a file, so each process reads many. The driver starts a
# process for each file; with -### it prints the command instead.
.PHONY: clang-warnings
clang-warnings: ## compile with clang for its warnings alone
	@command=$$($(CLANG) -### $(ALL_CFLAGS) -Werror -fsyntax-only -x c /dev/null 2>&1 | sed -n '$$s|"/dev/null"$$||p') && \
	  test -n "$$command" && eval "set -- $$command" && printf '%s\n' $(SRC) | xargs -n 32 -P "$$(nproc)" "$$@"

.PHONY: tidy
tidy: ## clang-tidy, cppcheck, gcc -fanalyzer, shellcheck, format, layers
	@BUILD=$(BUILD)-tidy scripts/tidy

.PHONY: fmt
fmt: ## format the C sources in place
	clang-format -i $(SRC) $(HDR) $(SHIP_SRC) $(SHIP_HDR) $(wildcard tests/*/*.c tests/*/*.h tests/*/*/*.c tests/*/*/*.h)

.PHONY: fuzz
fuzz: ## fuzz each tests/fuzz/fuzz_*.c for FUZZ_SECONDS (60)
	@$(MAKE) BUILD=$(BUILD)-fuzz CC='$(CLANG)' CFLAGS='$(SAN_CFLAGS) -fsanitize=fuzzer-no-link,address,undefined' fuzz-run

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
	    -artifact_prefix=$(BUILD)/$$n- $(FUZZ_OPTIONS) $$dict $(BUILD)/corpus/$$n $$seeds; \
	done; echo 'fuzz: no finding'

# Half of the time with sanitizers, for crashes; then what was found, and more, as it is in a release, where the limits of time are
# tight. Only the fuzz target itself is instrumented there.
.PHONY: fuzz-schemas
fuzz-schemas: ## FUZZ_SECONDS of schemas that a hostile server makes: crashes, time and memory
	@half=$$(($(FUZZ_SECONDS) / 2)); export FUZZ_OPTIONS='-len_control=0 -max_len=400 -timeout=100 -verbosity=0'; \
	$(MAKE) -s BUILD=$(BUILD)-fuzz CC='$(CLANG)' CFLAGS='$(SAN_CFLAGS) -fsanitize=fuzzer-no-link,address,undefined' \
	  FUZZ=$(BUILD)-fuzz/fuzz/fuzz_hostile FUZZ_SECONDS=$$half fuzz-run && \
	FUZZ_OPTIONS="$$FUZZ_OPTIONS $(BUILD)-fuzz-fast/corpus/hostile $(BUILD)-fuzz/corpus/hostile" \
	$(MAKE) -s BUILD=$(BUILD)-fuzz-fast CC='$(CLANG)' CFLAGS='-O2 -g' \
	  FUZZ=$(BUILD)-fuzz-fast/fuzz/fuzz_hostile FUZZ_SECONDS=$$half fuzz-run

.PHONY: bench
bench: $(BIN) $(filter $(BUILD)/bench/%,$(HELPER)) ## measure against cat; needs a quiet machine
	BUILD=$(BUILD) MCP_INTERPOSER=$(BIN) scripts/bench
	BUILD=$(BUILD) MCP_INTERPOSER=$(BIN) scripts/bench-replay
	@$(MAKE) -s bench-parts

.PHONY: bench-parts
bench-parts: $(PARTS) ## measure each step of processing a message, and the sanitizer alone
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

# The shells' default folders, below PREFIX/share.
BASH_COMPLETION := bash-completion/completions/mcp-interposer
ZSH_COMPLETION  := zsh/site-functions/_mcp-interposer
FISH_COMPLETION := fish/vendor_completions.d/mcp-interposer.fish
COMPLETIONS     := $(dir $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION))

# Messages of the program name files there (cli/settings/paths.h).
DOCUMENTS := $(PREFIX)/share/doc/mcp-interposer

# mcp-interposer-ship is installed if it was built.
# systemd looks for units of users in ~/.local/share, but not in ~/.local/lib.
SHIP_UNIT := $(PREFIX)/$(if $(filter /usr /usr/local,$(PREFIX)),lib,share)/systemd/user/mcp-interposer-ship.service
SHIP_DASHBOARDS := $(PREFIX)/share/doc/mcp-interposer-ship/dashboards
INSTALL_SHIP = install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 && install -m 755 $(SHIP) $(DESTDIR)$(PREFIX)/bin/mcp-interposer-ship && \
  install -m 644 docs/mcp-interposer-ship.1 $(DESTDIR)$(PREFIX)/share/man/man1/mcp-interposer-ship.1 && \
  install -d $(DESTDIR)$(dir $(SHIP_UNIT)) && \
  sed 's|^ExecStart=|&$(PREFIX)/bin/|' packaging/systemd/mcp-interposer-ship.service >$(DESTDIR)$(SHIP_UNIT) && \
  chmod 644 $(DESTDIR)$(SHIP_UNIT) && \
  install -d $(DESTDIR)$(SHIP_DASHBOARDS)/grafana $(DESTDIR)$(SHIP_DASHBOARDS)/metabase && \
  install -m 644 examples/dashboards/README.md $(DESTDIR)$(SHIP_DASHBOARDS) && \
  install -m 644 examples/dashboards/grafana/* $(DESTDIR)$(SHIP_DASHBOARDS)/grafana && \
  install -m 644 examples/dashboards/metabase/* $(DESTDIR)$(SHIP_DASHBOARDS)/metabase

.PHONY: install-ship
install-ship: ## copy mcp-interposer-ship, its man page, unit and dashboards below PREFIX
	$(INSTALL_SHIP)

.PHONY: install
install: $(if $(PROGRAM),,$(BIN)) ## copy the program (or PROGRAM), its man page, documents and completions below PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(DOCUMENTS)
	install -d $(COMPLETIONS:%=$(DESTDIR)$(PREFIX)/share/%)
	install -m 755 $(or $(PROGRAM),$(BIN)) $(DESTDIR)$(PREFIX)/bin/mcp-interposer
	$(if $(PROGRAM),,$(if $(wildcard $(SHIP)),$(INSTALL_SHIP)))
	sed 's|/usr/local/share|$(PREFIX)/share|' docs/mcp-interposer.1 >$(DESTDIR)$(PREFIX)/share/man/man1/mcp-interposer.1
	chmod 644 $(DESTDIR)$(PREFIX)/share/man/man1/mcp-interposer.1
	install -m 644 docs/*.md $(DESTDIR)$(DOCUMENTS)
	install -m 644 cli/complete/bash.sh $(DESTDIR)$(PREFIX)/share/$(BASH_COMPLETION)
	install -m 644 cli/complete/zsh.sh $(DESTDIR)$(PREFIX)/share/$(ZSH_COMPLETION)
	install -m 644 cli/complete/fish.sh $(DESTDIR)$(PREFIX)/share/$(FISH_COMPLETION)

.PHONY: uninstall
uninstall: ## remove what install copied
	rm -f $(DESTDIR)$(PREFIX)/bin/mcp-interposer $(DESTDIR)$(PREFIX)/bin/mcp-interposer-ship $(DESTDIR)$(SHIP_UNIT)
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/mcp-interposer.1 $(DESTDIR)$(PREFIX)/share/man/man1/mcp-interposer-ship.1
	rm -rf $(DESTDIR)$(DOCUMENTS) $(DESTDIR)$(PREFIX)/share/doc/mcp-interposer-ship
	rm -f $(DESTDIR)$(PREFIX)/share/$(BASH_COMPLETION) $(DESTDIR)$(PREFIX)/share/$(ZSH_COMPLETION)
	rm -f $(DESTDIR)$(PREFIX)/share/$(FISH_COMPLETION)

.PHONY: hooks
hooks: ## install a pre-commit hook in this clone
	ln -sf "$$(pwd)/scripts/pre-commit" "$$(git rev-parse --git-path hooks)/pre-commit"

.PHONY: compdb
compdb: ## compile_commands.json for editors, by bear
	rm -rf $(BUILD)-compdb
	bear -- $(MAKE) BUILD=$(BUILD)-compdb all tests

.PHONY: clean
clean: ## remove everything built
	rm -rf $(BUILD) $(addprefix $(BUILD)-,asan tsan tidy fuzz fuzz-fast cov compdb dist)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
