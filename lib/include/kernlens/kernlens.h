/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libkernlens: includes every public header. Functions return 0 or a count on success and a
 * negative errno on failure; those that return a pointer return NULL and set errno.
 * kl_error_text() then describes the failure. No function prints or exits. Objects have no locks:
 * use each object from one thread at a time; different objects may be used concurrently. A string
 * that the library returns lives as long as the object that it came from.
 */
#ifndef KERNLENS_KERNLENS_H
#define KERNLENS_KERNLENS_H

#include <kernlens/abi.h>
#include <kernlens/addresses.h>
#include <kernlens/aggregate.h>
#include <kernlens/ber.h>
#include <kernlens/buffer.h>
#include <kernlens/client.h>
#include <kernlens/define.h>
#include <kernlens/error.h>
#include <kernlens/event.h>
#include <kernlens/filter.h>
#include <kernlens/format.h>
#include <kernlens/match.h>
#include <kernlens/metadata.h>
#include <kernlens/plan.h>
#include <kernlens/reader.h>
#include <kernlens/record.h>
#include <kernlens/result.h>
#include <kernlens/schema.h>
#include <kernlens/stack.h>
#include <kernlens/strace.h>
#include <kernlens/symbols.h>
#include <kernlens/timebase.h>
#include <kernlens/trace.h>

#endif /* KERNLENS_KERNLENS_H */
