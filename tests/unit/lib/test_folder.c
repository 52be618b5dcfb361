// SPDX-License-Identifier: GPL-2.0
/*
 * Traces written to directories in which another user has planted links, files and directories:
 * nothing outside is written, and only the owner may read what is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <kernlens/address_store.h>
#include <kernlens/trace_folder.h>
#include "synth.h"
#include "unit.h"

#define PATH_BYTES 256
#define BEGIN 1000000000ull
#define STRANGER 65534

static struct kl_schema *schema;
static struct kl_trace_info info = { .version = "0" };
static struct synth synth;

/*
 * @base: the directory of all others
 * @trace: where the trace will be
 * @outside: a directory next to it, with the file @victim
 */
struct place {
	char *base;
	char trace[PATH_BYTES];
	char outside[PATH_BYTES];
	char victim[PATH_BYTES];
};

static const char *below(const char *folder, const char *name)
{
	static char path[2 * PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void put(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	if (fd < 0 || write(fd, "keep", 4) != 4)
		abort();
	close(fd);
}

static void place_init(struct place *p)
{
	p->base = synth_directory();
	snprintf(p->trace, PATH_BYTES, "%s/trace", p->base);
	snprintf(p->outside, PATH_BYTES, "%s/outside", p->base);
	snprintf(p->victim, PATH_BYTES, "%s/outside/victim", p->base);
	if (mkdir(p->outside, 0755))
		abort();
	put(p->victim);
}

/* Is everything outside unchanged? */
static bool is_untouched(const struct place *p)
{
	struct stat about, folder;
	char bytes[8];
	int fd = open(p->victim, O_RDONLY);
	bool same = fd >= 0 && read(fd, bytes, sizeof(bytes)) == 4 && !memcmp(bytes, "keep", 4);

	if (fd >= 0)
		close(fd);
	/* A directory without subdirectories. */
	return same && !stat(p->victim, &about) && (about.st_mode & 07777) == 0644 &&
	       !stat(p->outside, &folder) && folder.st_nlink == 2 &&
	       access(below(p->outside, "manifest"), F_OK) &&
	       access(below(p->outside, "metadata"), F_OK) &&
	       access(below(p->outside, "stacks"), F_OK);
}

static bool place_deinit(struct place *p)
{
	bool untouched = is_untouched(p);

	synth_remove(p->base);
	return untouched;
}

static struct kl_trace_writer *create(const char *path)
{
	errno = 0;
	return kl_trace_create(path, schema, &info);
}

/* Writes a trace with a block, a stack trace table and names. Returns whether that succeeded. */
static bool write_trace(const char *path)
{
	struct kl_trace_writer *writer = create(path);
	struct kl_stacks *stacks = kl_stacks_create();
	struct kl_addresses *addresses = kl_addresses_create();
	bool ok = writer;

	synth_init(&synth, schema, 0);
	synth_begin(&synth, BEGIN);
	synth_switch(&synth, BEGIN, "a", 1, "b", 2);
	synth_end(&synth, BEGIN + 10);
	ok = ok && !kl_trace_append(writer, synth_block(&synth), synth.block_bytes);
	ok = writer && !kl_trace_finish(writer, &info.timebase) && ok;
	ok = ok && !kl_stacks_save(stacks, path) && !kl_addresses_save(addresses, path);
	kl_stacks_destroy(stacks);
	kl_addresses_destroy(addresses);
	return ok;
}

/* The result of saving stack traces. */
static int saves(const char *path)
{
	struct kl_stacks *stacks = kl_stacks_create();
	int error = kl_stacks_save(stacks, path);

	kl_stacks_destroy(stacks);
	return error;
}

/* ------------------------------------------------------------------- links */

static bool refuses(const char *path, int error, const char *words)
{
	struct kl_trace_writer *writer = create(path);

	if (!writer)
		return errno == error && strstr(kl_error_text(), words);
	kl_trace_finish(writer, NULL);
	return false;
}

static void test_links(void)
{
	struct place p;

	place_init(&p);
	if (symlink("outside", p.trace))
		abort();
	unit_check(refuses(p.trace, ELOOP, "symbolic link") &&
			   refuses(below(p.trace, ""), ELOOP, "symbolic link"),
		   "a link in the place of the directory is refused, also with a slash behind it");
	unit_check(place_deinit(&p), "and not followed");
	place_init(&p);
	if (mkdir(p.trace, 0755) || symlink("../outside", below(p.trace, KL_TRACE_FOLDER)))
		abort();
	unit_check(refuses(p.trace, ELOOP, "kernlens is a symbolic link"),
		   "a link in the place of its folder is refused");
	unit_check(place_deinit(&p), "and not followed");
}

static void test_files(void)
{
	static const char *const names[] = { ".metadata.new", ".kernlens/manifest",
					     ".kernlens/stacks.new", ".kernlens/symbols.new" };
	char away[PATH_BYTES];
	struct place p;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char text[128];
		bool written;

		place_init(&p);
		if (mkdir(p.trace, 0755) || mkdir(below(p.trace, KL_TRACE_FOLDER), 0755) ||
		    symlink(p.victim, below(p.trace, names[i])))
			abort();
		written = write_trace(p.trace);
		snprintf(text, sizeof(text), "a link in the place of %s is replaced", names[i]);
		unit_check(place_deinit(&p) && written, text);
	}
	place_init(&p);
	if (mkdir(p.trace, 0755) || symlink(p.victim, below(p.trace, "cpu0")))
		abort();
	unit_check(!write_trace(p.trace), "one in the place of a stream is refused");
	unit_check(place_deinit(&p), "and not followed");
	/* Planted after the trace was begun, before stack traces are saved to it. */
	place_init(&p);
	write_trace(p.trace);
	snprintf(away, sizeof(away), "%s/away", p.base);
	if (rename(below(p.trace, KL_TRACE_FOLDER), away) ||
	    symlink("../outside", below(p.trace, KL_TRACE_FOLDER)))
		abort();
	unit_check(saves(p.trace) == -ELOOP, "nor is a folder that has become one");
	unit_check(place_deinit(&p), "nothing is saved behind it");
}

/* ------------------------------------------------------------------ owners */

static void test_owners(void)
{
	struct place p;

	if (geteuid()) {
		puts("# other users' directories: only root can make one");
		return;
	}
	place_init(&p);
	if (mkdir(p.trace, 0755) || chown(p.trace, STRANGER, STRANGER))
		abort();
	unit_check(refuses(p.trace, EPERM, "belongs to user 65534"),
		   "another user's directory is refused to root");
	place_deinit(&p);
	place_init(&p);
	if (mkdir(p.trace, 0755) || mkdir(below(p.trace, KL_TRACE_FOLDER), 0755) ||
	    chown(below(p.trace, KL_TRACE_FOLDER), STRANGER, STRANGER))
		abort();
	unit_check(refuses(p.trace, EPERM, "kernlens belongs to user 65534"),
		   "another user's folder, too");
	place_deinit(&p);
	place_init(&p);
	write_trace(p.trace);
	if (chown(p.trace, STRANGER, STRANGER))
		abort();
	unit_check(saves(p.trace) == -EPERM && kl_trace_folder(AT_FDCWD, p.trace) == -EPERM,
		   "nothing is saved to a trace that has become somebody else's");
	place_deinit(&p);
}

/* The user id reported to the library; 0: the real one. */
static uid_t pretended;

uid_t geteuid(void)
{
	return pretended ? pretended : (uid_t)syscall(SYS_geteuid);
}

/* All files created belong to another user, as on a file system that maps all users to one. */
static void test_mapped(void)
{
	struct place p;

	place_init(&p);
	pretended = STRANGER;
	unit_check(write_trace(p.trace) && !saves(p.trace),
		   "a file system may give what is created to one user");
	pretended = 0;
	unit_check(access(below(p.trace, ".kernlens.owner"), F_OK),
		   "nothing is left of finding out");
	place_deinit(&p);
}

/* ------------------------------------------------------------------- modes */

static unsigned int mode_of(const char *path)
{
	struct stat about;

	return stat(path, &about) ? 0 : about.st_mode & 07777;
}

static void test_modes(void)
{
	static const char *const files[] = { "metadata", "cpu0", ".kernlens/manifest",
					     ".kernlens/stacks", ".kernlens/symbols" };
	mode_t mask = umask(0);
	unsigned int own = 0;
	struct place p;

	place_init(&p);
	unit_check(write_trace(p.trace), "a trace is written");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		own += mode_of(below(p.trace, files[i])) == 0600;
	unit_check(mode_of(p.trace) == 0700 && mode_of(below(p.trace, KL_TRACE_FOLDER)) == 0700,
		   "its directories are for their owner alone, whatever the umask");
	unit_check(own == sizeof(files) / sizeof(*files), "and its files");
	umask(mask);
	place_deinit(&p);
}

int main(void)
{
	schema = kl_schema_create();
	if (!schema)
		abort();
	for (int i = 0; i < 16; i++)
		info.uuid[i] = 0x10 + i;
	kl_timebase_init(&info.timebase, KL_CLOCK_MONOTONIC, 1000000000, 0, 0);
	test_links();
	test_files();
	test_owners();
	test_mapped();
	test_modes();
	kl_schema_destroy(schema);
	return unit_end();
}
