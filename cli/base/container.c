// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the cgroup of --container. The names of cgroups show which ones are containers, and their
 * IDs; what a container is called is in the files of its runtime, where the user may read them.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/cgroup.h>
#include "cgroup.h"
#include "common.h"

#define ID_LENGTH 64
#define SHORT_ID 12

/**
 * struct container - a container that has a cgroup
 * @path: of its cgroup
 * @id: NULL: it has only a name
 * @name: NULL: not known
 */
struct container {
	const char *runtime;
	char *path;
	char *id;
	char *name;
};

struct containers {
	struct container *of;
	size_t n;
};

static void add_name(struct containers *list, const char *id, const char *name)
{
	name += *name == '/';
	for (size_t i = 0; i < list->n; i++)
		if (list->of[i].id && !strcmp(list->of[i].id, id) && !list->of[i].name && *name)
			list->of[i].name = cli_format("%s", name);
}

/* ------------------------------------------------------------- their cgroups */

static bool is_id(const char *text, size_t length)
{
	return length == ID_LENGTH && strspn(text, "0123456789abcdef") >= ID_LENGTH;
}

/* systemd writes some bytes of a unit's name as \xHH. */
static char *unescape(const char *text, size_t length)
{
	char *name = cli_alloc(length + 1), *to = name;

	for (size_t i = 0; i < length; i++) {
		char hex[3] = { 0 };

		if (length - i >= 4 && text[i] == '\\' && text[i + 1] == 'x' &&
		    isxdigit((unsigned char)text[i + 2]) && isxdigit((unsigned char)text[i + 3])) {
			memcpy(hex, text + i + 2, 2);
			*to++ = (char)strtol(hex, NULL, 16);
			i += 3;
		} else {
			*to++ = text[i];
		}
	}
	return name;
}

/*
 * Names of the cgroups of containers: by the runtimes that make systemd create the cgroup, those
 * that create it themselves, and those whose containers have names only. What monitors a container
 * has a cgroup of its own, which is not meant.
 */
static const struct pattern {
	const char *runtime;
	const char *in; /* name of the parent cgroup; NULL: any */
	const char *before;
	const char *after;
	bool is_name;
} patterns[] = {
	{ "docker", NULL, "docker-", ".scope", false },
	{ "docker", "docker", "", "", false },
	{ "podman", NULL, "libpod-", ".scope", false },
	{ "podman", NULL, "libpod-", "", false },
	{ "containerd", NULL, "cri-containerd-", ".scope", false },
	{ "containerd", NULL, "nerdctl-", ".scope", false },
	{ "cri-o", NULL, "crio-", ".scope", false },
	{ "cri-o", NULL, "crio-", "", false },
	{ "containerd", NULL, "", "", false },
	{ "lxc", NULL, "lxc.payload.", "", true },
	{ "lxc", "lxc", "", "", true },
	{ "nspawn", NULL, "systemd-nspawn@", ".service", true },
	{ "machine", NULL, "machine-", ".scope", true },
};

/* Returns the ID or name in a cgroup's name, and its length, or NULL if it does not fit. */
static const char *match_pattern(const struct pattern *p, const char *path, const char *base,
				 size_t *length)
{
	size_t before = strlen(p->before), after = strlen(p->after), all = strlen(base);
	size_t in = p->in ? strlen(p->in) : 0, parent = (size_t)(base - 1 - path);

	if (p->in && (parent <= in || path[parent - in - 1] != '/' ||
		      strncmp(path + parent - in, p->in, in) != 0))
		return NULL;
	if (all <= before + after || strncmp(base, p->before, before) != 0 ||
	    strcmp(base + all - after, p->after) != 0)
		return NULL;
	*length = all - before - after;
	if (!p->is_name && !is_id(base + before, *length))
		return NULL;
	return base + before;
}

static int visit(void *data, const char *path, uint64_t id)
{
	struct containers *list = data;
	const char *base = strrchr(path, '/') + 1, *text;
	struct container c = { 0 };
	size_t length;

	for (size_t i = 0; !c.path && i < sizeof(patterns) / sizeof(*patterns); i++) {
		text = match_pattern(&patterns[i], path, base, &length);
		if (!text)
			continue;
		c.runtime = patterns[i].runtime;
		c.path = cli_format("%s", path);
		if (patterns[i].is_name)
			c.name = unescape(text, length);
		else
			c.id = cli_format("%.*s", (int)length, text);
	}
	if (!c.path)
		return 1;
	list->of = reallocarray(list->of, list->n + 1, sizeof(*list->of));
	if (!list->of)
		abort();
	list->of[list->n++] = c;
	return 1;
}

/* --------------------------------------------------------------- their names */

static json_t *load(char *path)
{
	json_t *document = json_load_file(path, 0, NULL);

	free(path);
	return document;
}

/* Where programs of the calling user keep their data. */
static char *user_data(const char *what)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

	if (data && *data)
		return cli_format("%s/%s", data, what);
	return cli_format("%s/.local/share/%s", home ? home : "", what);
}

static void name_docker(struct containers *list, const char *root)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct container *c = &list->of[i];
		json_t *config;

		if (!c->id || c->name || strcmp(c->runtime, "docker") != 0)
			continue;
		config = load(cli_format("%s/containers/%s/config.v2.json", root, c->id));
		add_name(list, c->id, cli_json_get_text(config, "Name"));
		json_decref(config);
	}
}

/* The storage that podman, CRI-O and buildah share. */
static void name_storage(struct containers *list, const char *root)
{
	static const char *const files[] = {
		"overlay-containers/containers.json", "overlay-containers/volatile-containers.json",
		"vfs-containers/containers.json",     "vfs-containers/volatile-containers.json",
		"btrfs-containers/containers.json",   "zfs-containers/containers.json",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		json_t *all = load(cli_format("%s/%s", root, files[i])), *c, *name;
		size_t at, k;

		json_array_foreach(all, at, c)
		{
			json_array_foreach(json_object_get(c, "names"), k, name)
			{
				const char *text = json_string_value(name);

				add_name(list, cli_json_get_text(c, "id"), text ? text : "");
			}
		}
		json_decref(all);
	}
}

/* containerd keeps the description of each running container, with what its creator has noted. */
static void name_containerd(struct containers *list, const char *root)
{
	DIR *dir = opendir(root);
	struct dirent *space;

	while (dir && (space = readdir(dir))) {
		for (size_t i = 0; i < list->n && *space->d_name != '.'; i++) {
			const struct container *c = &list->of[i];
			const json_t *notes;
			json_t *config;

			if (!c->id || c->name || strcmp(c->runtime, "containerd") != 0)
				continue;
			config = load(
				cli_format("%s/%s/%s/config.json", root, space->d_name, c->id));
			notes = json_object_get(config, "annotations");
			add_name(list, c->id,
				 cli_json_get_text(notes, "io.kubernetes.cri.container-name"));
			add_name(list, c->id, cli_json_get_text(notes, "nerdctl/name"));
			json_decref(config);
		}
	}
	if (dir)
		closedir(dir);
}

static void read_names(struct containers *list)
{
	json_t *daemon = load(cli_format("/etc/docker/daemon.json"));
	char *const own[] = { user_data("docker"), user_data("containers/storage") };
	const char *root = cli_json_get_text(daemon, "data-root");

	name_docker(list, *root ? root : "/var/lib/docker");
	name_docker(list, own[0]);
	name_storage(list, "/var/lib/containers/storage");
	name_storage(list, own[1]);
	name_containerd(list, "/run/containerd/io.containerd.runtime.v2.task");
	json_decref(daemon);
	free(own[0]);
	free(own[1]);
}

/* ---------------------------------------------------------------- the search */

/* A name counts before the beginning of an ID. */
static bool is_meant(const struct container *c, const char *name, bool by_id)
{
	if (by_id)
		return c->id && !strncmp(c->id, name, strlen(name));
	return c->name && !strcmp(c->name, name);
}

static void add_candidate(struct cli_candidates *candidates, const struct container *c,
			  bool with_path)
{
	cli_candidates_add(candidates, "%s%s%.*s (%s%s%s)", c->name ? c->name : "",
			   c->name && c->id ? " " : "", SHORT_ID, c->id ? c->id : "", c->runtime,
			   with_path ? ", " : "", with_path ? c->path : "");
}

/* Returns how many are meant; @path is that of one of them. */
static size_t match(const struct containers *list, const char *name, bool by_id, const char **path,
		    struct cli_candidates *found)
{
	for (size_t i = 0; i < list->n; i++) {
		if (!is_meant(&list->of[i], name, by_id))
			continue;
		add_candidate(found, &list->of[i], true);
		*path = list->of[i].path;
	}
	return found->n;
}

static void report_unknown(const struct containers *list, const char *name)
{
	struct cli_candidates all = { 0 };

	for (size_t i = 0; i < list->n; i++)
		add_candidate(&all, &list->of[i], false);
	if (all.n)
		cli_error(-ENOENT, "no container \"%s\" is running; there are: %s", name,
			  cli_candidates_text(&all));
	else
		cli_error(-ENOENT, "no container \"%s\" is running, nor any other", name);
	cli_candidates_deinit(&all);
}

/**
 * cli_container_find - find the cgroup of a container
 * @name: its name, or the beginning of its ID
 *
 * Returns its path below the root of the hierarchy, to be freed, or NULL after an error message.
 */
char *cli_container_find(const char *name)
{
	struct cli_candidates found = { 0 };
	struct containers list = { 0 };
	int ret = kl_cgroup_walk("/", visit, &list);
	const char *path = NULL;
	char *copy = NULL;

	if (!ret)
		read_names(&list);
	if (!ret && !match(&list, name, false, &path, &found))
		match(&list, name, true, &path, &found);
	if (ret)
		cli_library_error(ret, NULL);
	else if (found.n == 1)
		copy = cli_format("%s", path);
	else if (found.n)
		cli_error(-EINVAL, "\"%s\" fits several containers: %s", name,
			  cli_candidates_text(&found));
	else
		report_unknown(&list, name);
	for (size_t i = 0; i < list.n; i++) {
		free(list.of[i].path);
		free(list.of[i].id);
		free(list.of[i].name);
	}
	free(list.of);
	cli_candidates_deinit(&found);
	return copy;
}
