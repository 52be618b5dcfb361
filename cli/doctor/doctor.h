/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the checks of kernlens doctor. */
#ifndef KL_CLI_DOCTOR_DOCTOR_H
#define KL_CLI_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/utsname.h>

/* What a check found. A fault keeps kernlens from working; a note says what is limited, or why. */
enum doctor_state {
	DOCTOR_OK,
	DOCTOR_NOTE,
	DOCTOR_UNKNOWN,
	DOCTOR_FAULT,
};

struct doctor_finding {
	enum doctor_state state;
	char *text;
	char *fix;
};

/**
 * struct doctor - what the checks share
 * @kernel: its release, version and machine
 * @loaded: the module is loaded
 * @device: NULL: it cannot be opened, because of @error (a positive errno), as @refusal explains
 */
struct doctor {
	struct utsname kernel;
	bool loaded;
	struct kl_device *device;
	int error;
	char *refusal;
};

/* Each check describes what it found, in one sentence without a period. */
#define DOCTOR_CHECK(name) \
	void doctor_check_##name(const struct doctor *doctor, struct doctor_finding *finding);
#include "checks.def"
#undef DOCTOR_CHECK

void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Set the command, or the action, that removes the fault. */
void doctor_fix(struct doctor_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * doctor_has_lockdown - is the kernel locked down?
 * @mode: "none", "integrity" or "confidentiality"; empty if that is unknown
 *
 * Returns true if a mode other than "none" is known to be on.
 */
bool doctor_has_lockdown(char *mode, size_t bytes);

#endif /* KL_CLI_DOCTOR_DOCTOR_H */
