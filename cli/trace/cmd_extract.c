// SPDX-License-Identifier: GPL-2.0
/* kernlens extract: recover traces from the memory of a machine that has crashed. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/crashes.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "extract_save.h"

enum {
	KEY_FORCE = CLI_KEY_OWN,
	KEY_LIST,
	KEY_SESSION,
	KEY_SAVE,
	KEY_KEEP,
	KEY_KEPT,
	KEY_FORGET,
};

static const struct cli_option options[] = {
	{ 'o', "output", "DIR", "directory that gets a trace for each session" },
	{ KEY_SESSION, "session", "NAME", "only sessions with this name or number" },
	{ KEY_LIST, "list", NULL, "list the sessions, and extract nothing" },
	{ KEY_FORCE, "force", NULL, "replace existing traces in DIR" },
	{ KEY_SAVE, "save", NULL, "extract to where kernlens status finds the traces" },
	{ KEY_KEEP, "keep", "N", "with --save: keep the traces of N crashes (10)" },
	{ KEY_KEPT, "kept", NULL, "the memory that is reserved on this machine" },
	{ KEY_FORGET, "forget", NULL, "with --kept: make it available again" },
	{ 'i', "input", "FILE", "memory: an ELF core such as /proc/vmcore, or raw bytes" },
	{},
};

/* Lines of damage that are printed; the rest are counted. */
#define DAMAGE_MAX 200

#define KEEP_DEFAULT 10

/*
 * @output: where to extract to. @shown: the same, as users will know it. @damage: lines about
 * damage so far
 */
struct extract {
	struct kl_dump *dump;
	const char *output;
	const char *shown;
	const char *session;
	bool force;
	bool saves;
	bool lists;
	bool kept;
	bool forgets;
	uint64_t keep;
	struct cli_save save;
	size_t damage;
	json_t *json;
};

static void print_damage(void *context, const char *text)
{
	struct extract *x = context;

	if (x->damage++ < DAMAGE_MAX)
		cli_note("%s", text);
}

static bool is_wanted(const struct extract *x, const struct kl_dump_session *s)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", s->id);
	return !x->session || !strcmp(x->session, s->name) || !strcmp(x->session, number);
}

/* ------------------------------------------------------- list */

static json_t *json_of(const struct extract *x, const struct kl_dump_session *s)
{
	const struct kl_dump_machine *m = kl_dump_machine(x->dump, s->machine);
	json_t *o = json_pack("{s:I, s:o, s:I, s:I, s:s, s:I}", "id", (json_int_t)s->id, "name",
			      cli_json_text(s->name), "uid", (json_int_t)s->uid, "creator",
			      (json_int_t)s->creator, "mode",
			      s->mode == KL_MODE_OVERWRITE ? "overwrite" : "discard", "created_ns",
			      (json_int_t)s->created_ns);
	json_t *more = json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "began_ns",
				 (json_int_t)s->began_ns, "ended_ns", (json_int_t)s->ended_ns,
				 "alive_ns", (json_int_t)m->alive_ns, "anchor",
				 (json_int_t)m->anchor, "boot_id", cli_json_text(m->boot_id),
				 "kernel", cli_json_text(m->release), "hostname",
				 cli_json_text(m->hostname));

	json_object_update(o, more);
	json_decref(more);
	return o;
}

static void print_machine(const struct kl_dump_machine *m)
{
	char time[CLI_NUMBER_MAX];

	printf("%s%s%s, boot %s, up to %s (anchor at 0x%llx)\n",
	       m->hostname[0] ? m->hostname : "unknown host", m->release[0] ? ": " : "", m->release,
	       m->boot_id[0] ? m->boot_id : "unknown", cli_print_wall(time, m->alive_ns),
	       (unsigned long long)m->anchor);
}

static int list(const struct extract *x)
{
	const struct kl_dump_session *s;
	const struct kl_dump_machine *m;
	struct cli_table *table;
	char began[CLI_NUMBER_MAX], ended[CLI_NUMBER_MAX];

	for (size_t i = 0; cli_settings.json && (s = kl_dump_session(x->dump, i)); i++)
		if (is_wanted(x, s))
			json_array_append_new(x->json, json_of(x, s));
	for (size_t k = 0; !cli_settings.json && (m = kl_dump_machine(x->dump, k)); k++) {
		print_machine(m);
		table = cli_table_create(">id|name|>uid|>creator|mode|started|ended");
		for (size_t i = 0; (s = kl_dump_session(x->dump, i)); i++) {
			if (s->machine != k || !is_wanted(x, s))
				continue;
			cli_table_add(table, "%u", s->id);
			cli_table_add(table, "%s", s->name);
			cli_table_add(table, "%u", s->uid);
			cli_table_add(table, "%d", s->creator);
			cli_table_add(table, "%s",
				      s->mode == KL_MODE_OVERWRITE ? "overwrite" : "discard");
			cli_table_add(table, "%s", cli_print_wall(began, s->began_ns));
			cli_table_add(table, "%s", cli_print_wall(ended, s->ended_ns));
		}
		cli_table_print(table, stdout, 2);
	}
	return CLI_OK;
}

/* ------------------------------------------------------- extract */

/*
 * A file name for a session's trace: its name and number; with the anchor's address, too, if there
 * is more than one machine.
 */
static char *name_of(const struct extract *x, const struct kl_dump_session *s)
{
	char *name = cli_format("%s-%u", s->name[0] ? s->name : "session", s->id), *whole;

	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-+", *c))
			*c = '_';
	if (name[0] == '.')
		name[0] = '_';
	if (!kl_dump_machine(x->dump, 1))
		return name;
	whole = cli_format("%s@%llx", name,
			   (unsigned long long)kl_dump_machine(x->dump, s->machine)->anchor);
	free(name);
	return whole;
}

static void report(struct extract *x, const struct kl_dump_session *s, const char *name,
		   const struct kl_dump_counts *counts)
{
	char *path = cli_format("%s/%s", x->shown, name);
	json_t *o;

	if (!cli_settings.json) {
		cli_note("%s: %llu records in %llu blocks%s", path,
			 (unsigned long long)counts->records, (unsigned long long)counts->blocks,
			 counts->damaged ? "; some are damaged, see above" : "");
		free(path);
		return;
	}
	o = json_of(x, s);
	json_object_set_new(o, "trace", cli_json_text(path));
	json_object_set_new(o, "records", json_integer((json_int_t)counts->records));
	json_object_set_new(o, "blocks", json_integer((json_int_t)counts->blocks));
	json_object_set_new(o, "cut", json_integer((json_int_t)counts->cut));
	json_object_set_new(o, "damaged", json_integer((json_int_t)counts->damaged));
	json_array_append_new(x->json, o);
	free(path);
}

static int extract_one(struct extract *x, size_t i, const struct kl_dump_session *s)
{
	struct kl_dump_counts counts;
	char *name = name_of(x, s), *path = cli_format("%s/%s", x->output, name);
	int error = kl_record_clear(path, x->force);

	if (!error)
		error = kl_dump_extract(x->dump, i, path, &counts);
	if (!error)
		report(x, s, name, &counts);
	else if (error == -EEXIST || error == -ENOTEMPTY)
		cli_error(error, "%s; --force replaces it", kl_error_text());
	else
		cli_library_error(error, "session %u (%s)", s->id, s->name);
	/* A session without records is no failure of the others, nor is its empty trace of use. */
	if (error == -ENODATA)
		kl_record_discard(path);
	else if (!error && x->saves)
		cli_save_add(&x->save, s, name);
	free(path);
	free(name);
	return error;
}

static int extract(struct extract *x)
{
	const struct kl_dump_session *s;
	size_t wanted = 0, done = 0;
	bool failed = false;

	for (size_t i = 0; (s = kl_dump_session(x->dump, i)); i++) {
		int error;

		if (!is_wanted(x, s))
			continue;
		wanted++;
		error = extract_one(x, i, s);
		done += !error;
		failed |= error && error != -ENODATA;
	}
	if (x->damage > DAMAGE_MAX)
		cli_note("%zu more things are damaged", x->damage - DAMAGE_MAX);
	if (!wanted && x->session)
		return cli_error(-ENOENT, "no session is called %s; --list shows them", x->session);
	if (!wanted)
		return cli_error(-ENOENT, "there was no session when the machine stopped");
	return done && !failed ? CLI_OK : CLI_FAILED;
}

static int extract_to(struct extract *x)
{
	if (mkdir(x->output, 0700) && errno != EEXIST)
		return cli_error(-errno, "cannot create %s: %s", x->output, strerror(errno));
	x->shown = x->output;
	return extract(x);
}

static int extract_and_save(struct extract *x)
{
	int status, saved;

	x->save.kept = x->kept;
	status = cli_save_begin(&x->save, x->dump);
	if (status)
		return status;
	x->output = x->save.part;
	x->shown = x->save.folder;
	status = extract(x);
	saved = cli_save_end(&x->save, x->damage, (size_t)x->keep);
	return status ? status : saved;
}

static int run(struct extract *x, const char *path)
{
	const struct kl_dump_ops ops = { print_damage, x };
	int status;

	cli_busy("searching the memory");
	x->dump = kl_dump_open(path, &ops);
	cli_busy(NULL);
	if (!x->dump)
		return cli_library_error(-errno, NULL);
	x->json = json_array();
	status = x->lists ? list(x) : x->saves ? extract_and_save(x) : extract_to(x);
	if (cli_settings.json && status == CLI_OK)
		status = cli_json_write(x->json);
	else
		json_decref(x->json);
	kl_dump_close(x->dump);
	return status;
}

/* ------------------------------------------------------- kept */

/* Is there something in the reserved memory? Returns a negative errno after a message if not. */
static int check_kept(void)
{
	int fd = cli_kept_open(O_RDONLY), error = errno;

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (error == ENODATA)
		cli_note("the reserved memory has nothing of an earlier boot");
	else if (error == ENOENT)
		cli_error(-error, "no memory is reserved for traces on this machine, or the module "
				  "is not loaded (kernlens-extract(1))");
	else if (error == EACCES || error == EPERM)
		cli_error(-error, "only root may use the reserved memory");
	else
		cli_error(-error, "%s: %s", CLI_KEPT_FILE, strerror(error));
	return -error;
}

static int forget(void)
{
	int fd = cli_kept_open(O_WRONLY), status = CLI_OK;

	if (fd < 0 || write(fd, "forget", 6) != 6)
		status = cli_error(-errno, "%s: %s", CLI_KEPT_FILE, strerror(errno));
	if (fd >= 0)
		close(fd);
	return status;
}

/* What could not be extracted is not given up, unless nothing else is requested. */
static int run_kept(struct extract *x)
{
	int error = check_kept(), status = CLI_OK;

	/* What runs at each boot usually finds nothing. */
	if (error)
		return error == -ENODATA && x->saves ? CLI_OK : CLI_FAILED;
	if (x->output || x->saves || x->lists)
		status = run(x, CLI_KEPT_FILE);
	return status || !x->forgets ? status : forget();
}

static void take_keep(struct extract *x, const struct cli_parser *parser)
{
	if (!cli_parse_unsigned(parser->arg, UINT32_MAX, &x->keep) || !x->keep)
		cli_usage_error(parser->command, "\"%s\" is not a number of crashes", parser->arg);
}

static int exec_extract(const struct cli_command *self, int argc, char **argv)
{
	struct extract x = { .keep = KEEP_DEFAULT };
	struct cli_parser parser;
	const char *path = NULL;
	int key;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser))) {
		if (key == 'o')
			x.output = parser.arg;
		else if (key == KEY_SESSION)
			x.session = parser.arg;
		else if (key == KEY_LIST)
			x.lists = true;
		else if (key == KEY_KEPT)
			x.kept = true;
		else if (key == KEY_FORGET)
			x.forgets = true;
		else if (key == KEY_FORCE)
			x.force = true;
		else if (key == KEY_SAVE)
			x.saves = true;
		else if (key == KEY_KEEP)
			take_keep(&x, &parser);
		else if (key == 'i')
			path = parser.arg;
	}
	if (x.saves && (x.output || x.lists))
		cli_usage_error(self, "--save excludes --output and --list");
	if (x.forgets && (!x.kept || x.lists || x.session))
		cli_usage_error(self, "--forget needs --kept, and excludes --list and --session");
	if (parser.n_words + !!path + x.kept != 1)
		cli_usage_error(self,
				"expected one file with the memory of a machine; for a session "
				"that runs, use kernlens snapshot SESSION");
	if (!x.output && !x.lists && !x.saves && !x.forgets)
		cli_usage_error(self, "no directory is given for the traces (-o DIR)");
	if (x.kept)
		return run_kept(&x);
	return run(&x, path ? path : parser.words[0]);
}

const struct cli_command_ops cmd_extract = {
	.options = options,
	.text = "Finds the sessions of the kernlens module in the memory of a crashed machine,\n"
		"and writes a trace of what was in their buffers. FILE is an ELF core (/proc/vmcore,\n"
		"or what QEMU and makedumpfile -E write), or the bytes of physical memory. It may\n"
		"be damaged: what cannot be used is named, and the rest is extracted.\n"
		"\n"
		"  kernlens extract /proc/vmcore --save    then, after the reboot: kernlens status\n"
		"  kernlens extract /proc/vmcore -o /var/crash/traces\n"
		"  kernlens extract memory.elf --list\n"
		"  kernlens extract --kept --save --forget      what has survived a reset\n"
		"  kernlens print traces/flight-1\n",
	.exec = exec_extract,
};
