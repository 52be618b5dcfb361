// SPDX-License-Identifier: GPL-2.0
/* Checks of kernlens doctor: the configuration files. */
#include <string.h>

#include "../base/common.h"
#include "../base/config.h"
#include "doctor.h"

void doctor_check_config(const struct doctor *doctor, struct doctor_finding *finding)
{
	const struct cli_config *config = cli_config();

	if (config->error) {
		/* Only its first line: the excerpt does not fit a table. */
		doctor_find(finding, DOCTOR_FAULT, "%.*s", (int)strcspn(config->error, "\n"),
			    config->error);
		doctor_fix(finding, "correct the file (man kernlens.conf), or use --no-config");
	} else if (*config->paths) {
		doctor_find(finding, DOCTOR_OK, "options are preset by %s", config->paths);
	} else {
		doctor_find(finding, DOCTOR_OK, "no options are preset (man kernlens.conf)");
	}
}
