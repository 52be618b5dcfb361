# SPDX-License-Identifier: GPL-2.0
# The library; included by the top Makefile, which sets BUILD, CC and CFLAGS
# (with -DKL_SCHEMA_HASH and -DKL_VERSION).

LIB_SOURCES := $(wildcard lib/*/*.c lib/*/*/*.c)
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o)
LIB_HEADERS := $(wildcard lib/include/kernlens/*.h lib/include/kernlens/*.def)
# What programs that use it link, too; pkg-config knows the first ones.
LIB_PACKAGES := libdw libelf sqlite3
LIB_OTHER_LIBS := -liberty -lZydis
LIB_LIBS := -ldw -lelf -lsqlite3 $(LIB_OTHER_LIBS)
LIB_SONAME := libkernlens.so.0
LIB := $(BUILD)/libkernlens.a
LIB_SHARED := $(BUILD)/$(LIB_SONAME)

# Only what the public headers declare is visible outside.
$(LIB_OBJECTS): $(BUILD)/%.o: %.c $(wildcard uapi/*)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fPIC -fvisibility=hidden -Ilib/include -MMD -MP -c $< -o $@

$(LIB): $(LIB_OBJECTS)
	rm -f $@
	$(AR) rcs $@ $^

$(LIB_SHARED): $(LIB_OBJECTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(LIB_SONAME) -Wl,-z,defs -o $@ $^ $(LIB_LIBS)
	ln -sf $(LIB_SONAME) $(BUILD)/libkernlens.so

# Once more, by clang and with checkers, for the unit tests and the fuzzers. Coverage is for the
# fuzzers; to other programs it does nothing.
CHECKED_CC ?= clang
CHECKERS := -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer
# The warnings are those of the usual build.
CHECKED_CFLAGS = $(filter-out -O2 -W%,$(CFLAGS)) -O1 $(CHECKERS)
# Of tests that are linked with it: the compiler does not know all of gcc's warnings.
CHECKED_TEST_CFLAGS := -O1 $(CHECKERS) -Wno-unknown-warning-option
LIB_CHECKED := $(BUILD)/checked/libkernlens.a
LIB_CHECKED_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/checked/%.o)

$(LIB_CHECKED_OBJECTS): $(BUILD)/checked/%.o: %.c $(wildcard uapi/*)
	@mkdir -p $(@D)
	$(CHECKED_CC) $(CHECKED_CFLAGS) -fsanitize=fuzzer-no-link -Ilib/include -MMD -MP -c $< -o $@

$(LIB_CHECKED): $(LIB_CHECKED_OBJECTS)
	rm -f $@
	$(AR) rcs $@ $^

-include $(LIB_OBJECTS:.o=.d) $(LIB_CHECKED_OBJECTS:.o=.d)
