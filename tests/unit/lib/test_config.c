// SPDX-License-Identifier: GPL-2.0
/*
 * Files in the configuration directory: where it is, what is not read, and that a file is replaced
 * completely, for its owner only, and never outside of a directory of one's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/internal.h>
#include "unit.h"

static char base[] = "/tmp/kl-config-XXXXXX";

static const char *below(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", base, name);
	return path;
}

static bool is_path(const char *name, const char *expected)
{
	char *path = kl_config_path(name);
	bool same = path && !strcmp(path, expected);

	free(path);
	return same;
}

static void test_paths(void)
{
	setenv("XDG_CONFIG_HOME", "/x", 1);
	setenv("HOME", "/h", 1);
	unit_check(is_path("proc", "/x/kernlens/proc"), "below XDG_CONFIG_HOME");
	setenv("XDG_CONFIG_HOME", "relative", 1);
	unit_check(is_path("proc", "/h/.config/kernlens/proc"), "a relative one is ignored");
	unit_check(is_path("", "/h/.config/kernlens"), "the directory itself");
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", "", 1);
	unit_check(!kl_config_path("proc") && errno == ENOENT, "no home");
	unit_check(kl_config_write("proc", "x", 1) == -ENOENT, "nothing is written without one");
}

static int read_file(struct kl_buffer *text, size_t most)
{
	kl_buffer_reset(text);
	return kl_config_read("proc", most, text);
}

static bool has(const char *content)
{
	struct kl_buffer text = { 0 };
	bool same = !read_file(&text, 1 << 20) && text.length == strlen(content) &&
		    !memcmp(text.data ? text.data : "", content, text.length);

	kl_buffer_deinit(&text);
	return same;
}

static mode_t mode_of(const char *name)
{
	struct stat about;

	return lstat(below(name), &about) ? 0 : about.st_mode;
}

static void test_files(void)
{
	struct kl_buffer text = { 0 };

	setenv("XDG_CONFIG_HOME", below("new/config"), 1);
	unit_check(read_file(&text, 100) == -ENOENT, "no file");
	umask(0);
	unit_check(!kl_config_write("proc", "first", 5) && has("first"), "written and read");
	unit_check(mode_of("new/config/kernlens/proc") == (S_IFREG | 0600), "for its owner only");
	unit_check(mode_of("new/config/kernlens") == (S_IFDIR | 0700) &&
			   mode_of("new/config") == (S_IFDIR | 0700),
		   "so are the new directories");
	unit_check(!kl_config_write("proc", "2nd", 3) && has("2nd"), "replaced completely");
	unit_check(!kl_config_write("proc", "", 0) && has(""), "by nothing");
	unit_check(!kl_config_write("proc", "12345", 5) && !read_file(&text, 5),
		   "as large as allowed");
	unit_check(read_file(&text, 4) == -EFBIG, "larger than allowed");
	kl_buffer_deinit(&text);
}

static void move(const char *from, const char *to)
{
	char *old = strdup(below(from));

	if (!old || rename(old, below(to)))
		abort();
	free(old);
}

static void test_planted(void)
{
	struct kl_buffer text = { 0 };

	unlink(below("new/config/kernlens/proc"));
	if (mkfifo(below("new/config/kernlens/proc"), 0600))
		abort();
	unit_check(read_file(&text, 100) == -EINVAL, "a pipe is not opened");
	unit_check(!kl_config_write("proc", "x", 1) && has("x"), "but replaced");
	unlink(below("new/config/kernlens/proc"));
	close(open(below("victim"), O_WRONLY | O_CREAT, 0644));
	if (symlink("../../../victim", below("new/config/kernlens/proc")))
		abort();
	unit_check(!kl_config_write("proc", "y", 1) && has("y"), "a link is replaced");
	unit_check(mode_of("victim") == (S_IFREG | 0644), "and not followed");
	move("new/config/kernlens", "elsewhere");
	if (symlink("../../elsewhere", below("new/config/kernlens")))
		abort();
	unit_check(kl_config_write("proc", "z", 1) == -ELOOP && has("y"),
		   "a directory that is a link is not written to");
	unlink(below("new/config/kernlens"));
	move("elsewhere", "new/config/kernlens");
	if (geteuid() == 0 && !chown(below("new/config/kernlens"), 65534, 65534))
		unit_check(kl_config_write("proc", "z", 1) == -EPERM && has("y"),
			   "nor one of another user");
	kl_buffer_deinit(&text);
}

static void remove_all(void)
{
	unlink(below("new/config/kernlens/proc"));
	rmdir(below("new/config/kernlens"));
	rmdir(below("new/config"));
	rmdir(below("new"));
	unlink(below("victim"));
	/* Fails if anything else was left. */
	unit_check(!rmdir(base), "no other file is left");
}

int main(void)
{
	if (!mkdtemp(base))
		abort();
	test_paths();
	test_files();
	test_planted();
	remove_all();
	return unit_end();
}
