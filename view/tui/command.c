// SPDX-License-Identifier: GPL-2.0
/*
 * Command lines of processes. They are not part of the table: each is read when it is first shown,
 * and again when the process executes another program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

/* Of two processes with the same remainder, only the one shown last is cached. */
#define PLACES 4096

/**
 * struct command - cached command line of a process
 * @start: start time of the process; 0: the slot is empty
 * @comm: its name at that time
 * @line: NULL: none, or not visible
 */
struct command {
	int32_t id;
	uint64_t start;
	char comm[KL_COMM_LEN];
	char *line;
};

static struct command *places;

void command_free_all(void)
{
	for (size_t i = 0; places && i < PLACES; i++)
		free(places[i].line);
	free(places);
	places = NULL;
}

/* Read the arguments, separated by blanks. */
static char *ask(const struct view *v, int32_t id)
{
	struct kl_details list;
	char *line = NULL;

	if (!kl_details_read(v->device, id, KL_DETAIL_COMMAND, &list)) {
		size_t length = list.n ? list.entry[0].text_bytes : 0;

		if (length >= VIEW_CELL_MAX)
			length = VIEW_CELL_MAX - 1;
		while (length && !list.entry[0].text[length - 1])
			length--;
		line = length ? malloc(length + 1) : NULL;
		for (size_t i = 0; line && i < length; i++)
			line[i] = list.entry[0].text[i] ? list.entry[0].text[i] : ' ';
		if (line)
			line[length] = 0;
		kl_details_deinit(&list);
	}
	kl_error_clear();
	return line;
}

const char *command_line(const struct view *v, size_t row, const char comm[KL_COMM_LEN])
{
	uint64_t start = column_number(v, row, NEED_START);
	struct command *c;
	bool there;
	int32_t id = kl_processes_row(v->table, row, &there);

	if (!places)
		places = calloc(PLACES, sizeof(*places));
	if (!places)
		return NULL;
	c = &places[(uint32_t)id % PLACES];
	if (c->id == id && c->start == start && !memcmp(c->comm, comm, KL_COMM_LEN))
		return c->line;
	free(c->line);
	c->id = id;
	c->start = start;
	memcpy(c->comm, comm, KL_COMM_LEN);
	c->line = ask(v, id);
	return c->line;
}
