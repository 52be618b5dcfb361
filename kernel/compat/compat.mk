# SPDX-License-Identifier: GPL-2.0
#
# What this kernel has, found by compiling (see probe.sh): kernel/Kbuild includes this file
# after it has named its objects, and the sources then include the two generated headers.
#
#	obj-m := kernlens.o
#	kernlens-y := main.o source/tracepoint.o ...
#	include $(src)/compat/compat.mk
#
#	compat/compat_config.h	KL_HAVE_X for each compat/probes/x.c that compiles
#	compat/events_present.h	KL_ROW_x(...), its arguments where row x of events.def exists here
#				and nothing where not; KL_ROW_REASON_x says why not, else ""
#
# Every object of kernlens-y waits for both. They are made again when the probes, the tables,
# the headers they use, the compiler's flags or the kernel's configuration or release change.
# Set kl-uapi before the include if the tables are not in ../uapi.
#
# $(src) and $(obj) differ from v6.13 on when MO= is given; nothing is written below $(src)
# unless kbuild builds there.

kl-uapi ?= $(src)/../uapi
kl-compat := $(src)/compat
kl-generated := compat/compat_config.h compat/events_present.h

ccflags-y += -I$(src) -I$(obj) -I$(obj)/compat -I$(kl-compat) -I$(kl-uapi)

# The kernel that was asked: its configuration and its release.
kl-kernel := $(wildcard $(objtree)/include/config/auto.conf \
	$(objtree)/include/generated/autoconf.h $(objtree)/include/generated/utsrelease.h)

# The compiler command of a module's object, without the file that lists its dependencies.
kl-cc = $(CC) $(filter-out -Wp$(comma)-M%,$(c_flags))

quiet_cmd_kl_config = PROBE   $@
      cmd_kl_config = mkdir -p $(@D) && $(CONFIG_SHELL) $(kl-compat)/probe.sh config $@ \
	$(kl-compat)/probes -- $(kl-cc)

quiet_cmd_kl_rows = PROBE   $@
      cmd_kl_rows = $(CONFIG_SHELL) $(kl-compat)/probe.sh rows $@ \
	$(kl-uapi)/events.def $(kl-compat)/probe_rows.c -- $(kl-cc)

# kbuild knows a module's object by its name; these two are not objects.
$(obj)/compat/%.h: part-of-module := y

$(obj)/compat/compat_config.h: $(wildcard $(kl-compat)/probes/*.c) $(kl-compat)/probe.sh \
		$(kl-kernel) FORCE
	$(call if_changed,kl_config)

$(obj)/compat/events_present.h: $(obj)/compat/compat_config.h $(kl-uapi)/events.def \
		$(kl-compat)/probe_rows.c $(kl-compat)/probe.sh $(kl-compat)/prototypes.h \
		$(src)/source/trace_headers.h $(src)/source/event_values.h $(kl-kernel) FORCE
	$(call if_changed,kl_rows)

targets += $(kl-generated)
clean-files += $(kl-generated)

$(addprefix $(obj)/,$(kernlens-y)): $(addprefix $(obj)/,$(kl-generated))
