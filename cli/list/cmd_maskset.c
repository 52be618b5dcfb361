// SPDX-License-Identifier: GPL-2.0
/* kernlens maskset: manage masksets in files, and those of a session. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/common.h"
#include "../base/output.h"
#include "maskset.h"

enum {
	KEY_SYSTEM = CLI_KEY_OWN,
	KEY_FORCE,
	KEY_NAMES,
	KEY_SESSION,
	KEY_LOAD,
};

static const struct cli_option options[] = {
	{ 'e', "event", "EVENTS", "create, set: a line, as for record -e; repeatable" },
	{ 'o', "output", "FILE", "export: write to FILE" },
	{ KEY_FORCE, "force", NULL, "create, import: replace an existing file" },
	{ KEY_SYSTEM, "system", NULL, "in " KL_MASKSET_SYSTEM_FOLDER ", for all users" },
	{ KEY_NAMES, "names", NULL, "list: print only the names" },
	{ KEY_SESSION, "session", "SESSION", "use, list, show: a session, by name or number" },
	{ KEY_LOAD, "load", NULL, "use: load the file even if the session has it" },
	{},
};

static void free_maskset(struct kl_maskset **m)
{
	kl_maskset_destroy(*m);
}

#define AUTO_MASKSET __attribute__((cleanup(free_maskset))) struct kl_maskset

/* Report the library's error; an invalid text is a usage error. */
static int complain(int error)
{
	if (error != -EINVAL)
		return cli_library_error(error, NULL);
	cli_usage_message("Try: kernlens help maskset", kl_error_text());
	return CLI_USAGE;
}

/* ---------------------------------------------------------------------- list */

struct entry {
	char *name;
	char *path; /* NULL: built in */
};

struct entries {
	struct entry *entry;
	size_t n;
};

static void add_entry(struct entries *list, const char *name, char *path)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->entry[i].name, name)) {
			free(path);
			return;
		}
	list->entry = reallocarray(list->entry, list->n + 1, sizeof(*list->entry));
	if (!list->entry)
		abort();
	list->entry[list->n++] = (struct entry){ .name = strdup(name), .path = path };
}

static void add_folder(struct entries *list, bool system)
{
	char *folder = kl_maskset_folder(system);
	DIR *dir = folder ? opendir(folder) : NULL;
	const struct dirent *file;

	while (dir && (file = readdir(dir)))
		if (!kl_maskset_check_name(file->d_name))
			add_entry(list, file->d_name, cli_format("%s/%s", folder, file->d_name));
	if (dir)
		closedir(dir);
	free(folder);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (!x->path != !y->path)
		return x->path ? 1 : -1;
	return strcmp(x->name, y->name);
}

static struct entries find_all(void)
{
	struct entries list = {};

	for (unsigned int id = 0; id < KL_MASKSET_FIRST_USER; id++)
		add_entry(&list, cli_maskset_name(id), NULL);
	add_folder(&list, false);
	add_folder(&list, true);
	qsort(list.entry, list.n, sizeof(*list.entry), compare_entries);
	return list;
}

static void free_entries(struct entries *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->entry[i].name);
		free(list->entry[i].path);
	}
	free(list->entry);
}

static unsigned int count_lines(const struct kl_maskset *m)
{
	unsigned int n = 0;

	while (m && kl_maskset_line(m, n))
		n++;
	return n;
}

static void list_entry(const struct entry *entry, struct cli_table *table, json_t *rows)
{
	AUTO_MASKSET *m = entry->path ? kl_maskset_read(entry->name, entry->path) : NULL;
	const char *help = m ? kl_maskset_help(m) :
			   entry->path ?
			       kl_error_text() :
			       cli_maskset_help((unsigned int)cli_maskset_find(entry->name));
	bool good = m || !entry->path;

	if (cli_settings.json) {
		json_array_append_new(rows, json_pack("{s:s, s:o, s:b, s:i, s:o}", "name",
						      entry->name, "path",
						      entry->path ? cli_json_text(entry->path) :
								    json_null(),
						      "good", good, "lines", count_lines(m), "help",
						      cli_json_text(help)));
		return;
	}
	cli_table_add(table, "%s", entry->name);
	cli_table_add(table, "%s", entry->path ? entry->path : "built in");
	/* An error message may have several lines; the first says most. */
	cli_table_add(table, "%s%.*s", good ? "" : "invalid: ", (int)strcspn(help, "\n"), help);
}

/* List all masksets available here, as a table, JSON or only their names. */
static int print_list(bool names)
{
	struct entries list = find_all();
	struct cli_table *table = names || cli_settings.json ?
					  NULL :
					  cli_table_create("maskset|location|description");
	json_t *rows = table || names ? NULL : json_array();

	for (size_t i = 0; i < list.n; i++) {
		if (names)
			puts(list.entry[i].name);
		else
			list_entry(&list.entry[i], table, rows);
	}
	free_entries(&list);
	if (table)
		cli_table_print(table, stdout, 0);
	return rows ? cli_json_write(rows) : CLI_OK;
}

/* ------------------------------------------------------------ show and export */

/* A built-in maskset, as a text that parses to the same set. */
static struct kl_maskset *make_builtin(unsigned int id)
{
	struct kl_schema *schema = kl_schema_create();
	const struct kl_class *class = NULL;
	struct kl_buffer text = {};
	struct kl_maskset *m;

	kl_buffer_printf(&text, "# %s\n", cli_maskset_help(id));
	while (schema && (class = kl_schema_next(schema, class)))
		if ((id == KL_MASKSET_RALL && class->set != KL_SET_REQUEST) ||
		    (id == KL_MASKSET_RDEFAULT && class->set == KL_SET_DEFAULT))
			kl_buffer_printf(&text, "%s\n", class->name);
	if (!schema || text.error) {
		cli_error(-ENOMEM, "out of memory");
		exit(CLI_FAILED);
	}
	m = kl_maskset_parse(cli_maskset_name(id), "built in", text.data, text.length);
	kl_buffer_deinit(&text);
	kl_schema_destroy(schema);
	return m;
}

static struct kl_maskset *find_any(const char *name)
{
	int id = cli_maskset_find(name);

	return id < 0 ? kl_maskset_load(name) : make_builtin((unsigned int)id);
}

static int write_text(const struct kl_maskset *m, FILE *file)
{
	size_t length;
	const char *text = kl_maskset_text(m, &length);

	fwrite(text, 1, length, file);
	if (length && text[length - 1] != '\n')
		fputc('\n', file);
	return ferror(file);
}

static int show(const char *name)
{
	AUTO_MASKSET *m = find_any(name);
	const struct kl_maskset_line *line;
	json_t *lines;

	if (!m)
		return complain(-errno);
	if (!cli_settings.json) {
		cli_start_pager();
		write_text(m, stdout);
		return CLI_OK;
	}
	lines = json_array();
	for (size_t i = 0; (line = kl_maskset_line(m, i)); i++)
		json_array_append_new(lines, json_pack("{s:i, s:o}", "line", (int)line->number,
						       "text", cli_json_text(line->text)));
	return cli_json_write(json_pack("{s:s, s:o, s:o, s:o}", "name", kl_maskset_name(m), "path",
					cli_json_text(kl_maskset_origin(m)), "text",
					cli_json_text(kl_maskset_text(m, NULL)), "lines", lines));
}

static int export_text(const char *name, const char *path)
{
	AUTO_MASKSET *m = find_any(name);
	FILE *file = stdout;
	bool failed;

	if (!m)
		return complain(-errno);
	if (path)
		file = fopen(path, "we");
	if (!file)
		return cli_error(-errno, "%s: %s", path, strerror(errno));
	failed = write_text(m, file);
	if (path && (fclose(file) || failed))
		return cli_error(-errno, "%s: %s", path, strerror(errno));
	return CLI_OK;
}

/* ------------------------------------------------------ create, set and import */

/*
 * Are the names and expressions valid? A maskset is not refused for what only this machine cannot
 * check, such as kernel types that the user is not allowed to read.
 */
static int check_meaning(const struct kl_maskset *m)
{
	struct kl_schema *schema = kl_schema_create();
	struct kl_plan *plan = schema ? kl_plan_create(schema) : NULL;
	int error = plan ? kl_plan_add_maskset(plan, m, KL_HANDLER_log) : -errno;
	int status = CLI_OK;

	if (!error)
		error = kl_plan_set_name(plan, kl_maskset_name(m));
	if (!error)
		error = kl_plan_compile(plan);
	if (error == -EINVAL)
		status = complain(error);
	else if (error)
		cli_note("%s cannot be checked: %s", kl_maskset_name(m), kl_error_text());
	kl_plan_destroy(plan);
	kl_schema_destroy(schema);
	return status;
}

static int save(const struct kl_maskset *m, const struct cli_maskset_options *o, bool replace)
{
	int status = check_meaning(m), error;

	if (status)
		return status;
	error = kl_maskset_save(m, o->system, replace);
	if (error == -EEXIST)
		return cli_error(error, "%s; --force replaces it, set adds to it", kl_error_text());
	return error ? complain(error) : CLI_OK;
}

/* Join @before and the lines of -e. */
static struct kl_maskset *make_text(const char *name, const char *before,
				    const struct cli_maskset_options *o)
{
	struct kl_buffer text = {};
	struct kl_maskset *m = NULL;

	kl_buffer_add_string(&text, before);
	if (text.length && text.data[text.length - 1] != '\n')
		kl_buffer_add_char(&text, '\n');
	for (unsigned int i = 0; i < o->n_lines; i++)
		kl_buffer_printf(&text, "%s\n", o->line[i]);
	if (text.error)
		errno = ENOMEM;
	else
		m = kl_maskset_parse(name, name, text.data ? text.data : "", text.length);
	kl_buffer_deinit(&text);
	return m;
}

static int create(const char *name, const struct cli_maskset_options *o)
{
	int error = kl_maskset_check_name(name);
	AUTO_MASKSET *m = NULL;

	if (error)
		return complain(error);
	m = make_text(name, "", o);
	return m ? save(m, o, o->force) : complain(-errno);
}

static int set(const char *name, const struct cli_maskset_options *o)
{
	AUTO_MASKSET *old = kl_maskset_load(name), *m = NULL;

	if (!old)
		return complain(-errno);
	m = make_text(name, kl_maskset_text(old, NULL), o);
	return m ? save(m, o, true) : complain(-errno);
}

/* The maskset name that a file name suggests. */
static char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	static const char ending[] = ".maskset";
	size_t length = strlen(name);

	if (length > strlen(ending) && !strcmp(name + length - strlen(ending), ending))
		length -= strlen(ending);
	return cli_format("%.*s", (int)length, name);
}

static int import_text(const char *path, const char *name, const struct cli_maskset_options *o)
{
	AUTO_MASKSET *m = NULL;
	bool input = !strcmp(path, "-");
	char *called = name ? strdup(name) : name_of(path);
	int status;

	if (!name && input)
		cli_usage_error(o->command, "NAME is required to import from standard input");
	status = kl_maskset_check_name(called);
	if (!status)
		m = kl_maskset_read(called, input ? NULL : path);
	if (!status && !m)
		status = -errno;
	free(called);
	return m ? save(m, o, o->force) : complain(status);
}

static int delete_file(const char *name, const struct cli_maskset_options *o)
{
	int error = kl_maskset_remove(name, o->system);

	return error ? complain(error) : CLI_OK;
}

/* ------------------------------------------------------------------------ words */

static const struct {
	const char *name;
	const char *args;
	int least, most; /* number of arguments */
	bool lines; /* accepts -e */
} verbs[] = {
	{ "list", "", 0, 0, false },
	{ "show", " NAME", 1, 1, false },
	{ "create", " NAME [-e EVENTS]...", 1, 1, true },
	{ "set", " NAME -e EVENTS...", 1, 1, true },
	{ "delete", " NAME", 1, 1, false },
	{ "export", " NAME", 1, 1, false },
	{ "import", " FILE [NAME]", 1, 2, false },
	{ "use", " NAME [--session SESSION]", 1, 1, false },
};

#define VERBS (sizeof(verbs) / sizeof(*verbs))

static unsigned int find_verb(const struct cli_maskset_options *o, const char *word, int words)
{
	struct kl_near near;
	unsigned int i = 0;

	kl_near_init(&near, word, strlen(word));
	for (; i < VERBS && strcmp(verbs[i].name, word); i++)
		kl_near_offer(&near, verbs[i].name);
	if (i == VERBS && near.best)
		cli_usage_error(o->command, "unknown action \"%s\"; did you mean \"%s\"?", word,
				near.best);
	if (i == VERBS)
		cli_usage_error(o->command, "unknown action \"%s\"", word);
	if (words < verbs[i].least || words > verbs[i].most)
		cli_usage_error(o->command,
				"wrong number of arguments; usage: kernlens maskset %s%s", word,
				verbs[i].args);
	if (o->n_lines && !verbs[i].lines)
		cli_usage_error(o->command, "maskset %s does not take -e", word);
	if (!o->n_lines && !strcmp(word, "set"))
		cli_usage_error(o->command, "maskset set requires -e");
	return i;
}

static int run(const struct cli_maskset_options *o, char **words, int n)
{
	const char *verb = n ? words[0] : "list", *name = n > 1 ? words[1] : NULL;

	find_verb(o, verb, n ? n - 1 : 0);
	if (!strcmp(verb, "use") ||
	    (o->session && (!strcmp(verb, "list") || !strcmp(verb, "show"))))
		return cli_maskset_session(o, verb, name);
	if (o->session)
		cli_usage_error(o->command, "maskset %s does not take --session", verb);
	if (!strcmp(verb, "list"))
		return print_list(o->names);
	if (!strcmp(verb, "show"))
		return show(name);
	if (!strcmp(verb, "create"))
		return create(name, o);
	if (!strcmp(verb, "set"))
		return set(name, o);
	if (!strcmp(verb, "delete"))
		return delete_file(name, o);
	if (!strcmp(verb, "export"))
		return export_text(name, o->path);
	return import_text(name, n > 2 ? words[2] : NULL, o);
}

static int exec_maskset(const struct cli_command *self, int argc, char **argv)
{
	struct cli_maskset_options o = { .command = self };
	struct cli_parser parser;
	int key;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser))) {
		o.system |= key == KEY_SYSTEM;
		o.force |= key == KEY_FORCE;
		o.names |= key == KEY_NAMES;
		o.load |= key == KEY_LOAD;
		if (key == KEY_SESSION)
			o.session = parser.arg;
		if (key == 'o')
			o.path = parser.arg;
		if (key != 'e')
			continue;
		if (o.n_lines == CLI_MASKSET_LINES_MAX)
			cli_usage_error(self, "too many -e options (maximum %d)",
					CLI_MASKSET_LINES_MAX);
		o.line[o.n_lines++] = parser.arg;
	}
	return run(&o, parser.words, parser.n_words);
}

const struct cli_command_ops cmd_maskset = {
	.options = options,
	.text = "A maskset is a text file. Each line has probe points with an optional filter and\n"
		"handler, as for record -e; # starts a comment. Later lines override earlier\n"
		"ones. record, live and stat take its name with -m; the handler use(NAME)\n"
		"switches to it.\n"
		"\n"
		"  kernlens maskset create quiet -e sched_process_exec -e 'syscalls :count'\n"
		"  kernlens maskset set quiet -e '!syscall_*_futex'\n"
		"  kernlens record -m quiet -- make\n"
		"  kernlens maskset use RDEFAULT --session flight\n"
		"  kernlens maskset export quiet | ssh host kernlens maskset import - quiet\n",
	.exec = exec_maskset,
};
