// SPDX-License-Identifier: GPL-2.0
/* Maps of compiled code: names by address, maps that grow, are replaced, damaged, or another's. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../lib/symbolize/jit.h"
#include "unit.h"

static char path[64];

static void write_map(const char *mode, const char *text, size_t bytes)
{
	FILE *file = fopen(path, mode);

	if (!file || fwrite(text, 1, bytes, file) != bytes || fclose(file)) {
		printf("Bail out! cannot write %s\n", path);
		exit(1);
	}
}

/* Is this the name of the code at an address? NULL: it has none. */
static bool is_named(struct kl_jit *jit, uint64_t address, const char *name, uint64_t offset)
{
	struct kl_frame frame = { .address = address, .place = 7 };

	kl_jit_name(jit, getpid(), &frame, true);
	if (!name)
		return !frame.symbol && !frame.object && frame.place == 7;
	return frame.symbol && !strcmp(frame.symbol, name) && frame.offset == offset &&
	       !strcmp(frame.object, path) && !frame.place;
}

static void test_names(void)
{
	static const char text[] = "2000 10 second\n1000 20 first one\n3000 8 third\n";
	struct kl_jit *jit = kl_jit_create();
	struct kl_frame frame = { .address = 0x1020 };

	write_map("w", text, strlen(text));
	unit_check(is_named(jit, 0x1000, "first one", 0) &&
			   is_named(jit, 0x101f, "first one", 31) &&
			   is_named(jit, 0x2005, "second", 5) && is_named(jit, 0x3007, "third", 7),
		   "addresses have names");
	unit_check(is_named(jit, 0xfff, NULL, 0) && is_named(jit, 0x1020, NULL, 0) &&
			   is_named(jit, 0x3008, NULL, 0) && is_named(jit, ~0ull, NULL, 0),
		   "others have none");
	kl_jit_name(jit, getpid(), &frame, false);
	unit_check(frame.symbol && !strcmp(frame.symbol, "first one") && frame.offset == 0x20,
		   "a return address at the end of its function");
	kl_jit_destroy(jit);
}

static void test_growing(void)
{
	struct kl_jit *jit = kl_jit_create();
	bool good;

	write_map("w", "1000 10 one\n1000 10 tw", 22);
	good = is_named(jit, 0x1000, "one", 0);
	write_map("a", "o\n2000 10 three\n", 16);
	good &= is_named(jit, 0x1000, "one", 0) && is_named(jit, 0x2000, NULL, 0);
	kl_jit_update(jit);
	unit_check(good && is_named(jit, 0x1000, "two", 0) && is_named(jit, 0x2000, "three", 0),
		   "an update finds new lines, and the end of the last one");
	unlink(path);
	kl_jit_update(jit);
	unit_check(is_named(jit, 0x2000, "three", 0), "what is known stays when the map has gone");
	write_map("w", "2000 10 four\n", 13);
	kl_jit_update(jit);
	unit_check(is_named(jit, 0x2000, "four", 0) && is_named(jit, 0x1000, NULL, 0),
		   "another map replaces it");
	kl_jit_destroy(jit);
}

static void test_damaged(void)
{
	static char text[100000];
	struct kl_jit *jit = kl_jit_create();
	size_t n;

	n = (size_t)sprintf(text, "\nx 10 a\n10\n1000 0 empty\n1000 10\n1000 10 \n5000 10 long");
	memset(text + n, 'g', 5000);
	n += 5000;
	n += (size_t)sprintf(text + n, "\n6000 10 after\n");
	write_map("w", text, n);
	unit_check(is_named(jit, 0x1000, NULL, 0) && is_named(jit, 0x6000, "after", 0),
		   "lines that are none are skipped, and the rest of one that is too long");
	kl_jit_destroy(jit);
	srandom(3);
	for (int round = 0; round < 200; round++) {
		for (n = 0; n < 2000; n++)
			text[n] = "0123456789abcdef \n\t-xg\0"[random() % 22];
		write_map("w", text, n);
		jit = kl_jit_create();
		for (uint64_t address = 0; address < 0x2000; address += 97)
			is_named(jit, address, NULL, 0);
		kl_jit_destroy(jit);
	}
	unit_check(true, "nonsense is survived");
}

static void test_trust(void)
{
	struct kl_jit *jit = kl_jit_create();

	write_map("w", "1000 10 foreign\n", 16);
	/* Only root can give a file away. */
	unit_check(geteuid() || (!chown(path, 65534, 65534) && is_named(jit, 0x1000, NULL, 0)),
		   "a map of somebody else's is not read");
	unlink(path);
	kl_jit_update(jit);
	if (symlink("/etc/passwd", path))
		printf("# no link\n");
	unit_check(is_named(jit, 0x1000, NULL, 0), "nor what a link leads to");
	unlink(path);
	kl_jit_update(jit);
	unit_check(!mkfifo(path, 0600) && is_named(jit, 0x1000, NULL, 0), "nor a pipe");
	unlink(path);
	kl_jit_destroy(jit);
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	test_names();
	test_growing();
	test_damaged();
	test_trust();
	return unit_end();
}
