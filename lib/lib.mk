# SPDX-License-Identifier: GPL-2.0
# The library; included by the top Makefile, which sets BUILD, CC and CFLAGS
# (with -DKL_SCHEMA_HASH and -DKL_VERSION).

LIB_SOURCES := $(wildcard lib/*/*.c lib/*/*/*.c)
# Messages of protocol buffers: protoc-c makes their C.
LIB_PROTOS := $(wildcard lib/*/*/*.proto)
LIB_PROTO_HEADERS := $(LIB_PROTOS:%.proto=$(BUILD)/%.pb-c.h)
LIB_PROTO_OBJECTS := $(LIB_PROTOS:%.proto=$(BUILD)/%.pb-c.o)
LIB_PROTO_INCLUDES := $(addprefix -I,$(sort $(dir $(LIB_PROTO_HEADERS))))
LIB_SOURCE_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o)
LIB_OBJECTS := $(LIB_SOURCE_OBJECTS) $(LIB_PROTO_OBJECTS)
# The interface, which is installed; and what the command, the viewers and the tests use besides.
LIB_PUBLIC_HEADERS := $(wildcard lib/include/kernlens/*.h lib/include/kernlens/*.def)
LIB_HEADERS := $(LIB_PUBLIC_HEADERS) \
	$(wildcard lib/internal/kernlens/*.h lib/internal/kernlens/*.def)
LIB_INCLUDES := -Ilib/include -Ilib/internal
# What programs that use it link, too; pkg-config knows the first ones.
LIB_PACKAGES := libdw libelf libprotobuf-c libzstd lzo2 sqlite3 zlib
LIB_OTHER_LIBS := -liberty -lZydis
LIB_LIBS := -ldw -lelf -lsqlite3 -lz -lzstd -llzo2 -lprotobuf-c $(LIB_OTHER_LIBS)
LIB_SONAME := libkernlens.so.0
LIB_MAP := lib/libkernlens.map
LIB := $(BUILD)/libkernlens.a
LIB_SHARED := $(BUILD)/$(LIB_SONAME)

# Only what the public headers declare is visible outside, as LIB_MAP lists it.
$(LIB_SOURCE_OBJECTS): $(BUILD)/%.o: %.c $(wildcard uapi/*)
	mkdir -p $(@D)
	$(call step,CC)$(CC) $(CFLAGS) -fPIC -fvisibility=hidden $(LIB_INCLUDES) $(LIB_PROTO_INCLUDES) -MMD -MP -c $< -o $@

$(BUILD)/%.pb-c.c $(BUILD)/%.pb-c.h: %.proto
	mkdir -p $(@D)
	$(call step,PROTOC)protoc-c -I $(<D) --c_out=$(@D) $<

.SECONDARY: $(LIB_PROTO_OBJECTS:%.o=%.c)
$(LIB_PROTO_OBJECTS): %.o: %.c
	$(call step,CC)$(CC) $(CFLAGS) -fPIC -fvisibility=hidden -c $< -o $@

$(LIB): $(LIB_OBJECTS)
	rm -f $@
	$(call step,AR)$(AR) rcs $@ $^

$(LIB_SHARED): $(LIB_OBJECTS) $(LIB_MAP)
	$(call step,LD)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(LIB_SONAME) \
		-Wl,--version-script=$(LIB_MAP) -Wl,--no-undefined-version -Wl,-z,defs -o $@ $(LIB_OBJECTS) $(LIB_LIBS)
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
	mkdir -p $(@D)
	$(call step,CC)$(CHECKED_CC) $(CHECKED_CFLAGS) -fsanitize=fuzzer-no-link $(LIB_INCLUDES) $(LIB_PROTO_INCLUDES) -MMD -MP -c $< -o $@

# They include what is made from the messages.
$(LIB_SOURCE_OBJECTS) $(LIB_CHECKED_OBJECTS): | $(LIB_PROTO_HEADERS)

$(LIB_CHECKED): $(LIB_CHECKED_OBJECTS) $(LIB_PROTO_OBJECTS)
	rm -f $@
	$(call step,AR)$(AR) rcs $@ $^

-include $(LIB_SOURCE_OBJECTS:.o=.d) $(LIB_CHECKED_OBJECTS:.o=.d)
