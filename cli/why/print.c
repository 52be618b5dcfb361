// SPDX-License-Identifier: GPL-2.0
/* Prints where the time of a task went, and what the most of it was. */
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "print.h"

/* Causes that the verdict names. */
#define CAUSES_SHOWN 5

static double percent(const struct cli_why *why, uint64_t ns)
{
	return why->node->ns ? 100.0 * (double)ns / (double)why->node->ns : 0;
}

/* A node in words; the command name of a task is made safe for the terminal. */
static char *in_words(const struct cli_why *why, const struct kl_why_node *node)
{
	char *name, *words;

	switch (node->kind) {
	case KL_WHY_TASK:
		return cli_format("%s", cli_clean_text(node->text, strlen(node->text)));
	case KL_WHY_RUNNING:
		return cli_format("running");
	case KL_WHY_RUNNABLE:
		return cli_format("runnable, while its CPU was used by");
	case KL_WHY_WAIT:
		return cli_format("waiting: %s", node->text);
	case KL_WHY_TIMER:
		return cli_format("until a timer expired");
	case KL_WHY_IRQ:
		return *node->text ? cli_format("device %s",
						cli_clean_text(node->text, strlen(node->text))) :
				     cli_format("an interrupt");
	case KL_WHY_SOFTIRQ:
		return *node->text ? cli_format("softirq %s", node->text) : cli_format("a softirq");
	case KL_WHY_DISK:
		name = cli_disk_name(node->text, why->boot_id);
		words = cli_format("disk %s", name);
		free(name);
		return words;
	case KL_WHY_IDLE:
		return cli_format("no task: it was waking up");
	case KL_WHY_STOPPED:
		return cli_format("stopped");
	case KL_WHY_FUNCTION:
		return cli_format("in %s", cli_clean_text(node->text, strlen(node->text)));
	default:
		return cli_format("%s", *node->text ? node->text : "unknown");
	}
}

/* ------------------------------------------------------------------ the tree */

/* A part that makes up all of the part above it is not indented: chains may be long. */
static void print_node(const struct cli_why *why, const struct kl_why_node *node,
		       unsigned int indent, FILE *file)
{
	char *words = in_words(why, node);
	char time[CLI_NUMBER_MAX];
	uint64_t rest = 0;

	fprintf(file, "%6.2f%%  %9s  %*s%s%s%s%s\n", percent(why, node->ns),
		cli_print_ns(time, node->ns), (int)indent, "",
		node->kind == KL_WHY_TASK ? cli_style(file, CLI_BOLD) : "", words,
		node->kind == KL_WHY_TASK ? cli_style(file, CLI_PLAIN) : "",
		2 * node->uncertain_ns > node->ns ? " ?" : "");
	free(words);
	for (size_t i = 0; i < node->n; i++) {
		if (percent(why, node->child[i]->ns) >= why->least)
			print_node(why, node->child[i], indent + 2, file);
		else
			rest += node->child[i]->ns;
	}
	if (percent(why, rest) >= why->least)
		fprintf(file, "%6.2f%%  %9s  %*s(others)\n", percent(why, rest),
			cli_print_ns(time, rest), (int)indent + 2, "");
}

/* --------------------------------------------------------------- the verdict */

/* @most: what a task was in for most of the time that it ran, or NULL */
struct cause {
	char *text;
	uint64_t ns;
	const struct kl_why_node *most;
};

struct causes {
	struct cause *cause;
	size_t n;
};

/* Takes the text. */
static void add_cause(struct causes *causes, char *text, const struct kl_why_node *node)
{
	struct cause *cause = causes->cause;

	while (cause < causes->cause + causes->n && strcmp(cause->text, text))
		cause++;
	if (cause == causes->cause + causes->n) {
		*cause = (struct cause){ .text = text };
		causes->n++;
	} else {
		free(text);
	}
	cause->ns += node->ns;
	if (node->n && (!cause->most || node->child[0]->ns > cause->most->ns))
		cause->most = node->child[0];
}

/* A leaf in words that make sense alone. @comm: the task it is about; @reason: its wait, or NULL */
static char *cause_of(const struct cli_why *why, const struct kl_why_node *leaf, const char *comm,
		      const char *reason)
{
	char *task = cli_format("%s", cli_clean_text(comm, strlen(comm))), *text, *disk;

	switch (leaf->kind) {
	case KL_WHY_RUNNING:
		text = cli_format("%s running", task);
		break;
	case KL_WHY_TASK:
		text = cli_format("%s waiting for the CPU that %s had", task,
				  cli_clean_text(leaf->text, strlen(leaf->text)));
		break;
	case KL_WHY_TIMER:
		text = cli_format("%s waiting for a timer (%s)", task, reason ? reason : "");
		break;
	case KL_WHY_IRQ:
	case KL_WHY_SOFTIRQ:
		text = cli_format("%s waiting for %s%s (%s)", task,
				  *leaf->text && leaf->kind == KL_WHY_SOFTIRQ ? "softirq " : "",
				  *leaf->text ? cli_clean_text(leaf->text, strlen(leaf->text)) :
						"an interrupt",
				  reason ? reason : "");
		break;
	case KL_WHY_DISK:
		disk = cli_disk_name(leaf->text, why->boot_id);
		text = cli_format("%s waiting for disk %s (%s)", task, disk, reason ? reason : "");
		free(disk);
		break;
	case KL_WHY_IDLE:
		text = cli_format("CPUs waking up");
		break;
	case KL_WHY_STOPPED:
		text = cli_format("%s stopped", task);
		break;
	default:
		text = *leaf->text ?
			       cli_format("%s still waiting (%s)", task, reason ? reason : "") :
			       cli_format("unknown");
	}
	free(task);
	return text;
}

static void collect(const struct cli_why *why, const struct kl_why_node *node, const char *comm,
		    const char *reason, struct causes *causes)
{
	if (!node->n || node->kind == KL_WHY_RUNNING) {
		add_cause(causes, cause_of(why, node, comm, reason), node);
		return;
	}
	if (node->kind == KL_WHY_TASK)
		comm = node->text;
	if (node->kind == KL_WHY_WAIT)
		reason = node->text;
	for (size_t i = 0; i < node->n; i++)
		collect(why, node->child[i], comm, reason, causes);
}

static int by_time(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(x->text, y->text);
}

static size_t count_leaves(const struct kl_why_node *node)
{
	size_t n = !node->n;

	for (size_t i = 0; i < node->n; i++)
		n += count_leaves(node->child[i]);
	return n;
}

/* The causes, longest first; to be freed. */
static struct causes causes_of(const struct cli_why *why)
{
	struct causes causes = {
		.cause = cli_alloc(count_leaves(why->node) * sizeof(struct cause)),
	};

	collect(why, why->node, why->node->text, NULL, &causes);
	qsort(causes.cause, causes.n, sizeof(*causes.cause), by_time);
	return causes;
}

static void free_causes(struct causes *causes)
{
	for (size_t i = 0; i < causes->n; i++)
		free(causes->cause[i].text);
	free(causes->cause);
}

static void print_cause(const struct cli_why *why, const struct cause *cause, FILE *file)
{
	fprintf(file, "%5.1f%%  %s", percent(why, cause->ns), cause->text);
	if (cause->most)
		fprintf(file, ", most in %s (%.1f%%)",
			cli_clean_text(cause->most->text, strlen(cause->most->text)),
			percent(why, cause->most->ns));
	fprintf(file, "\n");
}

void cli_why_print(const struct cli_why *why, FILE *file)
{
	struct causes causes = causes_of(why);
	char time[CLI_NUMBER_MAX];
	uint64_t rest = why->node->ns;

	fprintf(file, "%s/%d: %s\n\n", cli_clean_text(why->node->text, strlen(why->node->text)),
		why->node->tid, cli_print_time(time, why->node->ns));
	for (size_t i = 0; i < why->node->n; i++)
		if (percent(why, why->node->child[i]->ns) >= why->least)
			print_node(why, why->node->child[i], 0, file);
	fprintf(file, "\nOf these %s:\n", cli_print_time(time, why->node->ns));
	for (size_t i = 0; i < causes.n && i < CAUSES_SHOWN; i++) {
		print_cause(why, &causes.cause[i], file);
		rest -= causes.cause[i].ns;
	}
	if (causes.n > CAUSES_SHOWN)
		fprintf(file, "%5.1f%%  other causes\n", percent(why, rest));
	if (why->lost)
		fprintf(file, "%llu records are missing: some of this may be wrong\n",
			(unsigned long long)why->lost);
	if (!why->interrupts)
		fprintf(file, "the trace has no interrupts: what they woke is attributed to the "
			      "tasks that they interrupted\n");
	free_causes(&causes);
}

/* ---------------------------------------------------------------------- JSON */

static json_t *json_node(const struct kl_why_node *node)
{
	json_t *object =
		json_pack("{s:s, s:o, s:I, s:I, s:I}", "kind", kl_why_kind_name(node->kind), "text",
			  cli_json_text(node->text), "ns", (json_int_t)node->ns, "uncertain_ns",
			  (json_int_t)node->uncertain_ns, "count", (json_int_t)node->count);
	json_t *parts = json_array();

	if (node->kind == KL_WHY_TASK)
		json_object_set_new(object, "tid", json_integer(node->tid));
	for (size_t i = 0; i < node->n; i++)
		json_array_append_new(parts, json_node(node->child[i]));
	json_object_set_new(object, "parts", parts);
	return object;
}

json_t *cli_why_json(const struct cli_why *why)
{
	struct causes causes = causes_of(why);
	json_t *list = json_array();

	for (size_t i = 0; i < causes.n; i++)
		json_array_append_new(list, json_pack("{s:o, s:I}", "cause",
						      cli_json_text(causes.cause[i].text), "ns",
						      (json_int_t)causes.cause[i].ns));
	free_causes(&causes);
	return json_pack("{s:o, s:o, s:I, s:b}", "task", json_node(why->node), "causes", list,
			 "lost", (json_int_t)why->lost, "interrupts", why->interrupts);
}
