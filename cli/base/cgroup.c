// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the cgroup of --cgroup or --unit. systemd puts units into slices and nowhere else, so only
 * slices are searched: what the owner of another cgroup creates in it is never taken for a unit.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kernlens/cgroup.h>
#include "cgroup.h"
#include "common.h"

bool cli_cgroup_option(struct cli_cgroup *cgroup, const struct cli_parser *parser, int key)
{
	if (key != CLI_KEY_CGROUP && key != CLI_KEY_UNIT && key != CLI_KEY_CONTAINER)
		return false;
	if (cgroup->key)
		cli_usage_error(parser->command,
				"only one of --cgroup, --unit and --container can be given");
	if (!*parser->arg)
		cli_usage_error(parser->command,
				"the name of a cgroup, unit or container is empty");
	*cgroup = (struct cli_cgroup){ key, parser->arg };
	return true;
}

char *cli_cgroup_subject(const struct cli_cgroup *cgroup)
{
	return cli_format("%s %s",
			  cgroup->key == CLI_KEY_CGROUP ? "cgroup" :
			  cgroup->key == CLI_KEY_UNIT	? "unit" :
							  "container",
			  cgroup->name);
}

/* -------------------------------------------------------------- candidates */

void cli_candidates_add(struct cli_candidates *candidates, const char *format, ...)
{
	char *name, *text;
	va_list args;

	if (candidates->n++ >= CLI_CANDIDATES_MAX)
		return;
	va_start(args, format);
	name = cli_format_list(format, args);
	va_end(args);
	text = candidates->text ? cli_format("%s, %s", candidates->text, name) : NULL;
	if (text)
		free(name);
	free(candidates->text);
	candidates->text = text ? text : name;
}

const char *cli_candidates_text(struct cli_candidates *candidates)
{
	size_t more = candidates->n > CLI_CANDIDATES_MAX ? candidates->n - CLI_CANDIDATES_MAX : 0;
	char *text;

	if (more) {
		text = cli_format("%s and %zu more", candidates->text, more);
		free(candidates->text);
		candidates->text = text;
	}
	return candidates->text ? candidates->text : "";
}

void cli_candidates_deinit(struct cli_candidates *candidates)
{
	free(candidates->text);
}

/* ------------------------------------------------------------------- units */

/**
 * struct unit_search - the search for a unit
 * @name: its full name
 * @stem: the name without its type
 * @manager: cgroup of the manager of the caller's own units, which has slices, too
 * @path: the cgroup that was found last; NULL: none
 * @found: paths of all that were found
 * @similar: names of units that contain @stem
 */
struct unit_search {
	char *name;
	char *stem;
	char *manager;
	char *path;
	struct cli_candidates found;
	struct cli_candidates similar;
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), more = strlen(end);

	return length > more && !strcmp(text + length - more, end);
}

/* Types of units that have a cgroup. */
static bool is_unit(const char *name)
{
	static const char *const types[] = { ".service", ".slice", ".scope",
					     ".socket",	 ".mount", ".swap" };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (ends_with(name, types[i]))
			return true;
	return false;
}

static int visit_unit(void *data, const char *path, uint64_t id)
{
	struct unit_search *search = data;
	const char *name = strrchr(path, '/') + 1;

	/* systemd puts this before a name that the kernel might use for a file of its own. */
	name += *name == '_';
	if (!strcmp(name, search->name)) {
		cli_candidates_add(&search->found, "%s", path);
		free(search->path);
		search->path = cli_format("%s", path);
	} else if (is_unit(name) && strstr(name, search->stem)) {
		cli_candidates_add(&search->similar, "%s", name);
	}
	return !*name || ends_with(name, ".slice") || !strcmp(path, search->manager);
}

static char *find_unit(const char *name)
{
	struct unit_search u = {
		.name = cli_format("%s%s", name, is_unit(name) ? "" : ".service"),
		.manager =
			cli_format("/user.slice/user-%u.slice/user@%u.service", getuid(), getuid()),
	};
	int ret;

	u.stem = cli_format("%.*s", (int)(strrchr(u.name, '.') - u.name), u.name);
	ret = kl_cgroup_walk("/", visit_unit, &u);
	if (ret)
		cli_library_error(ret, NULL);
	else if (u.found.n > 1)
		cli_error(-EINVAL, "several cgroups are named %s; select one with --cgroup: %s",
			  u.name, cli_candidates_text(&u.found));
	else if (!u.found.n)
		cli_error(-ENOENT, "unit %s has no cgroup, as it is not running%s%s", u.name,
			  u.similar.n ? "; similar units: " : "", cli_candidates_text(&u.similar));
	if (ret || u.found.n != 1) {
		free(u.path);
		u.path = NULL;
	}
	cli_candidates_deinit(&u.found);
	cli_candidates_deinit(&u.similar);
	free(u.manager);
	free(u.stem);
	free(u.name);
	return u.path;
}

char *cli_cgroup_find(const struct cli_cgroup *cgroup)
{
	switch (cgroup->key) {
	case CLI_KEY_UNIT:
		return find_unit(cgroup->name);
	case CLI_KEY_CONTAINER:
		return cli_container_find(cgroup->name);
	default:
		return cli_format("%s", cgroup->name);
	}
}
