// SPDX-License-Identifier: GPL-2.0
/*
 * Masksets as text: comments, a round trip through a file, each error with its line and column,
 * which file takes precedence, and masksets that use others.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/internal.h>
#include "unit.h"

static char home[] = "/tmp/kl-maskset-XXXXXX";

static struct kl_maskset *parse(const char *text)
{
	return kl_maskset_parse("one", "file", text, strlen(text));
}

/* The lines that are not comments, as "NUMBER:TEXT" separated by |. */
static char *lines_of(const struct kl_maskset *m)
{
	static char text[512];
	const struct kl_maskset_line *line;
	size_t n = 0;

	text[0] = 0;
	for (size_t i = 0; (line = kl_maskset_line(m, i)); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u:%s", i ? "|" : "",
				      line->number, line->text);
	return text;
}

static void test_lines(void)
{
	static const struct {
		const char *text, *lines, *help;
	} cases[] = {
		{ "", "", "" },
		{ "\n\n", "", "" },
		{ "# a help\n# more\n", "", "a help" },
		{ "#\n#   \n## later ##\nirq\n", "4:irq", "later ##" },
		{ "sched_switch", "1:sched_switch", "" },
		{ "  irq :count   # of all\r\n\tsched_* \n", "1:  irq :count|2:\tsched_*",
		  "of all" },
		{ "sched_switch /prev_comm == \"a # b\"/\n",
		  "1:sched_switch /prev_comm == \"a # b\"/", "" },
		{ "syscall_entry_open /filename == \"\\\" # b\"/ # c\n",
		  "1:syscall_entry_open /filename == \"\\\" # b\"/", "c" },
		{ "uprobe:/a#b:main, irq\n", "1:uprobe:/a#b:main, irq", "" },
		{ "irq, sched :count\n!sched_wakeup", "1:irq, sched :count|2:!sched_wakeup", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kl_maskset *m = parse(cases[i].text);
		char name[80];

		snprintf(name, sizeof(name), "text %zu: lines and comments", i);
		if (!m) {
			unit_result(false, name, kl_error_text());
			continue;
		}
		unit_result(!strcmp(lines_of(m), cases[i].lines) &&
				    !strcmp(kl_maskset_help(m), cases[i].help) &&
				    !strcmp(kl_maskset_text(m, NULL), cases[i].text),
			    name, lines_of(m));
		kl_maskset_destroy(m);
	}
}

/* The error of a text: when it is parsed, or when it is compiled. */
static const char *error_of(const char *text)
{
	struct kl_maskset *m = parse(text);
	struct kl_schema *schema = kl_schema_create();
	struct kl_plan *plan = kl_plan_create(schema);
	static char said[512];
	int ret = -1;

	if (m) {
		ret = kl_plan_add_maskset(plan, m, KL_HANDLER_log);
		if (!ret)
			ret = kl_plan_compile(plan);
	}
	snprintf(said, sizeof(said), "%s", ret ? kl_error_text() : "");
	kl_plan_destroy(plan);
	kl_schema_destroy(schema);
	kl_maskset_destroy(m);
	return said;
}

static void test_errors(void)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "irq\nsched_swich\n", "file:2:1: " },
		{ "irq\n  sched_swich\n", "file:2:3: " },
		{ "irq, nix\n", "file:1:6: " },
		{ "# c\n\nsched_switch :hst(1)\n", "file:3:15: unknown handler \"hst\"" },
		{ "sched_switch :\n", "file:1:15: expected a handler's name" },
		{ "sched_switch :count(", "file:1:21: " },
		{ "sched_switch :count(1)", "file:1:21: count takes at most 0" },
		{ "sched_switch :hist", "file:1:1: hist requires an argument" },
		{ "sched_switch :hist(next_tid, a)", "file:1:30: expected a number" },
		{ "sched_switch :hist(next_tid, 0)", "file:1:30: a bucket" },
		{ "sched_switch /next_tid\n", "file:1:14: missing closing / of the filter" },
		{ "sched_switch //\n", "file:1:15: the filter is empty" },
		{ "irq\nsched_switch /next_tid == nix/", "file:2:27: filter: " },
		{ "sched_switch /next_tid ==/\n", "file:1:26: filter: " },
		{ "sched_switch :sum(1 +)\n", "file:1:22: sum: " },
		{ "sched_switch :count by nix\n", "file:1:24: key: " },
		{ "sched_switch :log by next_tid\n", "file:1:22: log takes no keys" },
		{ "sched_switch next_tid\n", "file:1:14: expected a comma, " },
		{ "tick:0\n", "file:1:6: a tick" },
		{ "tp:\n", "file:1:4: expected an event" },
		{ "uprobe:/bin/true\n", "file:1:8: expected uprobe:" },
		{ "sched_switch :set(a b)\n", "file:1:19: a flag's name" },
		{ "sched_switch :freeze(-1)\n", "file:1:22: the number of records" },
		{ "irq\nsched_switch :use(nix)\n", "file:2:19: unknown maskset \"nix\"" },
		{ "sched_switch :use\n", "file:1:1: use requires" },
		{ "irq\nsched\001_switch\n", "file:2:6: unexpected control character" },
		{ "irq,,sched\n", "file:1:5: " },
		{ "!sched_switch /next_tid/\n", "file:1:1: an excluded event" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *said = error_of(cases[i].text);
		char name[120];

		snprintf(name, sizeof(name), "error %zu: %s", i, cases[i].error);
		unit_result(!strncmp(said, cases[i].error, strlen(cases[i].error)), name, said);
	}
	unit_check(!*error_of("irq\nsched_switch /next_tid == 1/ :count by prev_tid # well\n"),
		   "and one without");
	unit_check(!kl_maskset_parse("one", "file", "irq\0", 4) && errno == EINVAL,
		   "a NUL is not text");
}

static void test_names(void)
{
	static const char *const good[] = { "a", "quiet", "My-2.set_x",
					    "a123456789012345678901234567890" };
	static const char *const bad[] = {
		"",    ".",	  "..",	      "a/b",
		"1a",  "_a",	  "RALL",     "rall",
		"all", "Default", "RNOTHING", "events",
		"a b", ".new-1",  "a~",	      "a1234567890123456789012345678901",
		"-a"
	};
	unsigned int wrong = 0;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		wrong += kl_maskset_check_name(good[i]) != 0;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		wrong += kl_maskset_check_name(bad[i]) != -EINVAL;
	unit_check(!wrong, "names that can be and cannot");
}

static void test_files(void)
{
	static const char text[] = "# A help\n\n irq  # x\nsched_switch /next_tid == 1/ :count";
	struct kl_maskset *m = parse(text), *again;
	char *path = kl_maskset_path("one", false), big[64];
	struct stat status = {};
	size_t length = 0;
	int fd;

	umask(027);
	unit_check(path && !strncmp(path, home, strlen(home)), "the user's folder");
	unit_check(!kl_maskset_load("one") && errno == ENOENT, "none yet");
	unit_check(!kl_maskset_save(m, false, false), "a file is written, its folders too");
	unit_check(!stat(path, &status) && (status.st_mode & 07777) == 0640,
		   "with the rights that the user gives to files");
	unit_check(kl_maskset_save(m, false, false) == -EEXIST, "not over another");
	again = kl_maskset_load("one");
	unit_check(again && !strcmp(kl_maskset_text(again, &length), text) &&
			   length == strlen(text) && !strcmp(kl_maskset_origin(again), path),
		   "there and back, byte for byte");
	kl_maskset_destroy(again);
	unit_check(!kl_maskset_save(m, false, true), "unless that is wanted");
	unit_check(!kl_maskset_remove("one", false) && kl_maskset_remove("one", false) == -ENOENT,
		   "removed, once");
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	memset(big, '#', sizeof(big));
	for (unsigned int i = 0; i <= KL_MASKSET_BYTES_MAX / sizeof(big); i++)
		if (write(fd, big, sizeof(big)) < 0)
			break;
	close(fd);
	unit_check(!kl_maskset_load("one") && errno == EFBIG, "a file that is too large");
	unlink(path);
	mkdir(path, 0700);
	unit_check(!kl_maskset_load("one") && errno == EISDIR, "a folder is no maskset");
	rmdir(path);
	unit_check(kl_maskset_remove("../one", false) == -EINVAL && !kl_maskset_load("../one"),
		   "nothing outside the folder");
	setenv("XDG_CONFIG_HOME", "relative", 1);
	setenv("HOME", "/nowhere", 1);
	free(path);
	path = kl_maskset_path("one", false);
	unit_check(path && !strcmp(path, "/nowhere/.config/kernlens/masksets/one"),
		   "below the home folder");
	setenv("XDG_CONFIG_HOME", home, 1);
	free(path);
	kl_maskset_destroy(m);
}

static void save(const char *name, const char *text)
{
	struct kl_maskset *m = kl_maskset_parse(name, name, text, strlen(text));

	if (!m || kl_maskset_save(m, false, true))
		unit_result(false, "a file for a test", kl_error_text());
	kl_maskset_destroy(m);
}

/* Each is loaded once, however often it is named; also in a cycle. */
static void test_use(void)
{
	struct kl_schema *schema = kl_schema_create();
	struct kl_plan *plan = kl_plan_create(schema);
	int ret;

	save("wide", "sched_switch :count\nirq\nsched_wakeup :use(narrow)\n");
	save("narrow", "tick:7 :use(wide)\ntick:11\nsched_switch\n");
	kl_plan_add(plan, "tick:11 :count, sched_waking :use(wide), tick:7", KL_HANDLER_log);
	kl_plan_add(plan, "sched_switch /next_tid == 1/ :use(wide)", KL_HANDLER_log);
	kl_plan_add(plan, "sched_wakeup_new :use(events)", KL_HANDLER_log);
	ret = kl_plan_compile(plan);
	unit_result(!ret, "masksets that name others", kl_error_text());
	unit_check(kl_plan_maskset_map(plan, 2) && !kl_plan_maskset_map(plan, 3),
		   "are loaded once each");
	if (ret)
		goto out;
	unit_check(kl_plan_maskset_map(plan, 1)[KL_EV_sched_switch] == KL_HANDLER_count &&
			   kl_plan_maskset_map(plan, 2)[KL_EV_sched_switch] == KL_HANDLER_log &&
			   kl_plan_map(plan)[KL_EV_sched_switch] >= KL_ACTION_RULE,
		   "and each says what it says");
	unit_check(kl_plan_defined(plan) == 2 &&
			   kl_plan_has_handler(plan, KL_EV_DYNAMIC, KL_HANDLER_count) &&
			   kl_plan_has_handler(plan, KL_EV_DYNAMIC, KL_HANDLER_log) &&
			   kl_plan_has_handler(plan, KL_EV_DYNAMIC + 1, KL_HANDLER_log),
		   "an event that two of them define is one");
out:
	kl_plan_destroy(plan);
	save("wide", "irq\n  sched_switch :use(nix)\n");
	plan = kl_plan_create(schema);
	kl_plan_add(plan, "sched_waking :use(wide)", KL_HANDLER_log);
	unit_result(kl_plan_compile(plan) == -EINVAL &&
			    strstr(kl_error_text(), "masksets/wide:2:21: unknown maskset"),
		    "what is wrong in one of them is said with its file", kl_error_text());
	kl_plan_destroy(plan);
	kl_schema_destroy(schema);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(home))
		return 1;
	setenv("XDG_CONFIG_HOME", home, 1);
	test_lines();
	test_errors();
	test_names();
	test_files();
	test_use();
	snprintf(command, sizeof(command), "rm -r %s", home);
	return system(command) ? 1 : unit_end();
}
