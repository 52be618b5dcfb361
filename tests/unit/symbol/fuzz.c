// SPDX-License-Identifier: GPL-2.0
/* Random texts: what compiles is valid and runs, the rest is refused. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kernlens/error.h>
#include "expressions.h"

#define SECONDS 3

static const char *const words[] = {
	"a",	     "b",	  "u",
	"comm",	     "list",	  "first",
	"second",    "behind",	  "current",
	"file",	     "arg1",	  "arg2",
	"->",	     "->",	  ".",
	"[",	     "]",	  "(",
	")",	     "(",	  ")",
	"+",	     "-",	  "*",
	"&",	     "/",	  "%",
	"<<",	     ">>",	  "<",
	">=",	     "==",	  "!=",
	"&&",	     "||",	  "?",
	":",	     "!",	  "~",
	"0",	     "1",	  "2",
	"0xffff",    "64",	  "18446744073709551615",
	"\"he*\"",   "\"\"",	  "\"*\"",
	"'x'",	     "(u32)",	  "(struct task_struct *)",
	"(char *)",  "(bool)",	  "(void **)",
	"comm",	     "pid",	  "mm",
	"f_path",    "dentry",	  "d_name",
	"name",	     "parent",	  "d_iname",
	"flag(on)",  "user(",	  "PIDTYPE_TGID",
	"jiffies",   "runqueues", "in_iowait",
	"nonsense",  "struct",	  "unsigned long",
	"cpus_mask", "bits",	  "rlim",
	"signal",    " and ",	  " or ",
	" not ",     "!~",	  "\"h\\*?*\"",
	"5M",	     "1.5K",	  "2ms",
};

static void write_words(char *text, size_t bytes)
{
	size_t length = 0;

	for (int n = 1 + rand() % 16; n; n--) {
		const char *word = words[rand() % (sizeof(words) / sizeof(words[0]))];

		if (length + strlen(word) + 2 >= bytes)
			return;
		length += sprintf(text + length, "%s%s", word, rand() % 3 ? "" : " ");
	}
}

static void damage(char *text)
{
	static const char *const good[] = {
		"current->mm->pgd->pgd + (current->pid ? 1 : 2)",
		"file->f_path.dentry->d_name.name == \"x\" && list[2] > 'a'",
		"((struct task_struct *)arg2)->comm == \"foo*\" || flag(on)",
		"-1 < (s8)~u % 7 << 3 && &current->comm[3] != 0",
		"runqueues.nr_running + jiffies",
		"not comm ~ \"wor\\*k*\" and a > 1.5M or since(on) < 10ms",
	};
	size_t length;

	strcpy(text, good[rand() % (sizeof(good) / sizeof(good[0]))]);
	length = strlen(text);
	for (int n = rand() % 3; n; n--)
		text[rand() % length] = rand() % 4 ? " ()[]*&->.\"'\\?:0a"[rand() % 17] : rand();
}

/* Nested and long texts: must hit limits, not overflow the stack. */
static void repeat(char *text, size_t bytes)
{
	const char *word = words[rand() % (sizeof(words) / sizeof(words[0]))];
	size_t length = 0;

	while (length + strlen(word) + 2 < bytes)
		length += sprintf(text + length, "%s", word);
}

static bool is_fine(struct kl_scope *scope, const char *text, unsigned int *compiled)
{
	unsigned int flags = rand() % 2 ? KL_EXPRESSION_RECORD : 0;
	int ret = kl_expression_compile(scope, "fuzz", text, flags, &code);
	const char *wrong;

	if (ret) {
		if (!strncmp(kl_error_text(), "fuzz:", 5))
			return true;
		printf("# %s\n# refused with: %s\n", text, kl_error_text());
		return false;
	}
	(*compiled)++;
	wrong = check_code(&code);
	if (wrong)
		printf("# %s\n# %s\n", text, wrong);
	evaluate(&code, &machine);
	return !wrong;
}

void test_fuzz(struct kl_scope *scope)
{
	unsigned int n = 0, compiled = 0, bad = 0;
	time_t end = time(NULL) + SECONDS;
	char text[8192];

	srand(time(NULL));
	while (time(NULL) < end && bad < 5) {
		unsigned int kind = rand() % 64;

		if (!kind)
			repeat(text, sizeof(text));
		else if (kind < 32)
			write_words(text, 256);
		else
			damage(text);
		bad += !is_fine(scope, text, &compiled);
		n++;
	}
	printf("# %u texts, %u compiled\n", n, compiled);
	unit_check(!bad && compiled > n / 1000, "random texts do no harm");
}
