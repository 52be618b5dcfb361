// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens doctor: check what kernlens needs, and for each fault print the command that fixes it.
 * Checks are rows of checks.def; module.c has those of the module, kernel.c those of the kernel.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "doctor.h"

static const struct check {
	const char *name;
	void (*run)(const struct doctor *doctor, struct doctor_finding *finding);
} checks[] = {
#define DOCTOR_CHECK(name) { #name, doctor_check_##name },
#include "checks.def"
#undef DOCTOR_CHECK
};

#define CHECKS (sizeof(checks) / sizeof(*checks))

static const struct {
	const char *name;
	enum cli_style style;
} states[] = {
	[DOCTOR_OK] = { "ok", CLI_PLAIN },
	[DOCTOR_NOTE] = { "note", CLI_BOLD },
	[DOCTOR_UNKNOWN] = { "unknown", CLI_DIM },
	[DOCTOR_FAULT] = { "fault", CLI_RED },
};

void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	free(finding->text);
	finding->state = state;
	finding->text = cli_format_list(format, args);
	va_end(args);
}

void doctor_fix(struct doctor_finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	free(finding->fix);
	finding->fix = cli_format_list(format, args);
	va_end(args);
}

static json_t *finding_json(const struct check *check, const struct doctor_finding *finding)
{
	return json_pack("{s:s, s:s, s:s, s:s?}", "name", check->name, "state",
			 states[finding->state].name, "text", finding->text, "fix", finding->fix);
}

static void print_finding(const struct check *check, const struct doctor_finding *finding)
{
	printf("%s%-8s%s %-9s %s\n", cli_style(stdout, states[finding->state].style),
	       states[finding->state].name, cli_style(stdout, CLI_PLAIN), check->name,
	       finding->text);
	if (finding->fix)
		printf("%18s -> %s\n", "", finding->fix);
}

static int run_checks(const struct doctor *doctor)
{
	json_t *list = cli_settings.json ? json_array() : NULL;
	unsigned int faults = 0;

	for (const struct check *check = checks; check < checks + CHECKS; check++) {
		struct doctor_finding finding = {};

		check->run(doctor, &finding);
		faults += finding.state == DOCTOR_FAULT;
		if (list)
			json_array_append_new(list, finding_json(check, &finding));
		else
			print_finding(check, &finding);
		free(finding.text);
		free(finding.fix);
	}
	if (list)
		cli_json_write(json_pack("{s:i, s:o}", "faults", (int)faults, "checks", list));
	else if (faults)
		printf("\n%u fault%s\n", faults, faults > 1 ? "s" : "");
	else
		puts("\nNo faults: kernlens works here.");
	return faults ? CLI_FAILED : CLI_OK;
}

static int exec_doctor(const struct cli_command *self, int argc, char **argv)
{
	struct doctor doctor = {};
	struct cli_parser parser;
	int status;

	cli_parser_init(&parser, self, argc, argv);
	while (cli_parse(&parser))
		;
	if (parser.n_words)
		cli_usage_error(self, "doctor takes no arguments");
	uname(&doctor.kernel);
	doctor.loaded = !access("/sys/module/kernlens", F_OK);
	doctor.device = kl_device_open(NULL);
	if (!doctor.device) {
		doctor.error = errno;
		doctor.refusal = cli_format("%s", kl_error_text());
		kl_error_clear();
	}
	status = run_checks(&doctor);
	kl_device_close(doctor.device);
	free(doctor.refusal);
	return status;
}

const struct cli_command_ops cmd_doctor = {
	.text = "A fault keeps kernlens from working. A note says what is limited here, or may\n"
		"surprise you. What an ordinary user cannot read is unknown: root sees all.\n"
		"The exit status is 1 if there is a fault.\n",
	.survives_config = true,
	.exec = exec_doctor,
};
