# mcp-interposer: every target carries its line of help; `make help` prints them.

VERSION := 0.1.0
BUILD   ?= build
PREFIX  ?= /usr/local
CC      ?= cc
PKGS    := sqlite3

CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wformat=2 -Wstrict-prototypes \
           -Wmissing-prototypes -Wwrite-strings -Wcast-qual -Wvla -Wundef
# libev's macros type-pun its watchers: -fno-strict-aliasing.
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -DMI_VERSION='"$(VERSION)"' -I. $(WARN) -fno-strict-aliasing \
              -fno-common -MMD -MP $(CFLAGS) $(EXTRA_CFLAGS)
LIBS    := -lev -lsqlite3 -linih

ROOMS   := base wire vault proxy replay cli
SRC     := $(wildcard $(ROOMS:%=%/*.c))
OBJ     := $(SRC:%.c=$(BUILD)/%.o)
BIN     := $(BUILD)/mcp-interposer
# Everything but main() is one archive, which the unit tests link as well.
LIB     := $(BUILD)/libinterposer.a
LIBOBJ  := $(filter-out $(BUILD)/cli/main.o,$(OBJ))

UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT     := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/unit/%)

.PHONY: all
all: $(BIN) ## build build/mcp-interposer

$(BIN): $(BUILD)/cli/main.o $(LIB)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(LIB): $(LIBOBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/unit/%: tests/unit/%.c $(LIB)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $< $(LIB) $(LDFLAGS) -lcmocka $(LIBS)

-include $(OBJ:.o=.d) $(UNIT:%=%.d)

.PHONY: unit
unit: $(UNIT) ## unit tests only
	@for t in $(UNIT); do $$t || exit 1; done

.PHONY: clean
clean: ## remove everything built
	rm -rf $(BUILD)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
