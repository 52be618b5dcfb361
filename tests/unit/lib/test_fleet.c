// SPDX-License-Identifier: GPL-2.0
/*
 * Captures of kernlens fleet: names, heads, traces cut into messages and put together again in any
 * order and with anything else in between, and what is left in a spool by a process that was killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../fleet/receive.h"
#include "../../../fleet/spool.h"
#include "../../../uapi/kernlens.h"
#include "unit.h"

static char base[] = "/tmp/kl-fleet-XXXXXX";

static const char *below(const char *name)
{
	static char path[4][512];
	static unsigned int n;

	snprintf(path[++n % 4], sizeof(path[0]), "%s/%s", base, name);
	return path[n % 4];
}

static bool run(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return !system(command);
}

/* ------------------------------------------------------------------------- names */

static void test_names(void)
{
	static const char *const good[] = { "metadata", "cpu0",	    "cpu7",
					    "cpu10",	"cpu65535", ".kernlens/manifest" };
	static const char *const bad[] = { "",	       "cpu",	      "cpu00",	   "cpu01",
					   "cpu1x",    "cpu123456",   "../cpu0",   "/metadata",
					   "cpu0/",    ".kernlens",   "metadata ", ".kernlens/../x",
					   "cpu0.klz", ".kernlens/x", "Metadata",  "cpu-1" };
	bool all = true;
	char text[16], long_patterns[600];

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		all = all && fleet_is_file(good[i]);
	unit_check(all, "files of a trace");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		all = all && !fleet_is_file(bad[i]);
	unit_check(all, "no others");
	unit_check(fleet_is_stream("cpu3") && !fleet_is_stream("metadata"), "streams");
	unit_check(fleet_is_token("web-1_a", 64) && !fleet_is_token("", 64) &&
			   !fleet_is_token("a.b", 64) && !fleet_is_token("a*", 64) &&
			   !fleet_is_token("a>", 64) && !fleet_is_token("a b", 64) &&
			   !fleet_is_token("abcd", 4) && fleet_is_token("abc", 4) &&
			   !fleet_is_token(NULL, 4),
		   "tokens of subjects");
	memset(long_patterns, '*', sizeof(long_patterns) - 1);
	long_patterns[sizeof(long_patterns) - 1] = 0;
	unit_check(fleet_matches("db*,web1", "db7") && fleet_matches("db*,web1", "web1") &&
			   !fleet_matches("db*,web1", "web2") && !fleet_matches("", "web2") &&
			   !fleet_matches(",", "web2") && !fleet_matches(long_patterns, "web2"),
		   "patterns");
	fleet_clean(text, sizeof(text), "a\033[1m\n\tb\x7f");
	unit_check(!strcmp(text, "a?[1m??b?"), "control characters");
	fleet_clean(text, sizeof(text), "a\xc2\x9b m\xc3\xa9");
	unit_check(!strcmp(text, "a?? m\xc3\xa9"), "also those of UTF-8");
	fleet_clean(text, 5, "abc\xc3\xa9");
	unit_check(!strcmp(text, "abc"), "no half a character");
}

/* ------------------------------------------------------------------------- heads */

#define HEAD(files)                                                                                  \
	"{\"version\":1,\"host\":\"h\",\"boot\":\"b\",\"capture\":\"c\",\"run\":\"r\",\"about\":{}," \
	"\"files\":[" files "]}"
#define FILE_OF(name, bytes, pieces) \
	"{\"name\":\"" name "\",\"bytes\":" bytes ",\"pieces\":" pieces ",\"crc\":7}"

static bool parses(const char *text)
{
	struct fleet_manifest manifest;
	const char *why;
	bool good = fleet_manifest_parse(&manifest, text, strlen(text), &why);

	fleet_manifest_release(&manifest);
	return good && !why;
}

static void test_heads(void)
{
	static const char *const bad[] = {
		"",
		"x",
		"[]",
		"{}",
		HEAD(""),
		HEAD("5"),
		HEAD("{}"),
		HEAD(FILE_OF("cpu", "1", "1")),
		HEAD(FILE_OF("cpu0", "1", "2")),
		HEAD(FILE_OF("cpu0", "524289", "1")),
		HEAD(FILE_OF("cpu0", "0", "1")),
		HEAD(FILE_OF("cpu0", "9223372036854775807", "1")),
		HEAD(FILE_OF("cpu0", "99999999999", "4194305")),
		HEAD(FILE_OF("cpu0", "1", "1") "," FILE_OF("cpu0", "1", "1")),
		HEAD(FILE_OF("cpu0", "4194304", "4194304") "," FILE_OF("cpu1", "1", "1")),
		"{\"version\":2,\"host\":\"h\",\"boot\":\"b\",\"capture\":\"c\",\"run\":\"r\","
		"\"about\":{},\"files\":[" FILE_OF("cpu0", "1", "1") "]}",
		"{\"version\":1,\"host\":\"h.x\",\"boot\":\"b\",\"capture\":\"c\",\"run\":\"r\","
		"\"about\":{},\"files\":[" FILE_OF("cpu0", "1", "1") "]}",
	};
	struct fleet_manifest manifest;
	const char *good = HEAD(FILE_OF("cpu0", "524288", "1") "," FILE_OF("metadata", "0", "0"));
	const char *why;
	char *text;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		unit_result(!parses(bad[i]), "an invalid head", bad[i]);
	unit_check(parses(good), "a valid head");
	fleet_manifest_parse(&manifest, good, strlen(good), &why);
	text = fleet_manifest_text(&manifest);
	unit_check(text && !strcmp(text, good), "written as it was read");
	unit_check(fleet_manifest_bytes(&manifest) == 524288, "its size");
	free(text);
	fleet_manifest_release(&manifest);
	for (size_t n = 0; n < strlen(good); n++) {
		if (!fleet_manifest_parse(&manifest, good, n, &why)) {
			fleet_manifest_release(&manifest);
			continue;
		}
		unit_result(false, "a head cut anywhere is none", good);
		return;
	}
	unit_result(true, "a head cut anywhere is none", NULL);
}

/* ---------------------------------------------------------------- cut and put together */

static uint32_t state = 1;

static uint32_t below_number(uint32_t n)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % n;
}

/* A stream: packets of any valid size, and now and then what is none. */
static void write_stream(const char *path, unsigned int packets)
{
	FILE *file = fopen(path, "we");

	for (unsigned int i = 0; i < packets; i++) {
		uint32_t bytes = 4096u << below_number(9), used = below_number(bytes);
		struct kl_abi_block *block = calloc(1, bytes);

		for (uint32_t k = 0; k < used; k++)
			((uint8_t *)block)[k] = (uint8_t)below_number(256);
		block->magic = below_number(10) ? KL_CTF_MAGIC : 5;
		block->packet_bits = (uint64_t)bytes * 8;
		if (!below_number(10))
			block->packet_bits = below_number(2) ? ~0ull : 8;
		fwrite(block, 1, bytes - (below_number(20) ? 0 : below_number(4000)), file);
		free(block);
	}
	fclose(file);
}

static bool make_spool(const char *name, unsigned int packets)
{
	char path[600];

	if (!run("mkdir -p %s/spool/%s/trace/.kernlens", base, name))
		return false;
	snprintf(path, sizeof(path), "%s/spool/%s/trace/cpu0", base, name);
	write_stream(path, packets);
	snprintf(path, sizeof(path), "%s/spool/%s/trace/cpu11", base, name);
	write_stream(path, 3);
	return run("cd %s/spool/%s && echo '{\"reason\":\"x\"}' >about.json && cd trace &&"
		   " head -c 200000 /dev/urandom >metadata && : >.kernlens/stacks &&"
		   " head -c 70 /dev/urandom >.kernlens/manifest && echo no >other",
		   base, name);
}

static struct fleet_piece piece_of(const struct fleet_cut *cut, const char *run, char text[4][24])
{
	struct fleet_piece piece = { .run = run, .payload = cut->data, .length = cut->bytes };

	snprintf(text[0], 24, "%zu", cut->file);
	snprintf(text[1], 24, "%u", cut->piece);
	snprintf(text[2], 24, "%llu", (unsigned long long)cut->at);
	snprintf(text[3], 24, "%u", cut->bytes);
	while (piece.length && !cut->data[piece.length - 1])
		piece.length--;
	piece.file = text[0];
	piece.piece = text[1];
	piece.at = text[2];
	piece.bytes = text[3];
	return piece;
}

/* All pieces from an ordinal on. Returns their number. */
static size_t cut_all(const struct fleet_spooled *spooled, uint64_t from, struct fleet_cut *cuts,
		      size_t most)
{
	struct fleet_cutter cutter;
	size_t n = 0;

	fleet_cutter_start(&cutter, spooled, from);
	while (n < most && fleet_cutter_next(&cutter, &cuts[n]) > 0)
		n++;
	fleet_cutter_stop(&cutter);
	return n;
}

static bool is_same_cut(const struct fleet_cut *one, const struct fleet_cut *other)
{
	return one->file == other->file && one->piece == other->piece && one->at == other->at &&
	       one->bytes == other->bytes && one->ordinal == other->ordinal &&
	       !memcmp(one->data, other->data, one->bytes);
}

#define CUTS_MAX 4000

static void test_resume(const struct fleet_spooled *spooled, struct fleet_cut *cuts, size_t n)
{
	struct fleet_cut *again = calloc(CUTS_MAX, sizeof(*again));
	bool same = true;

	for (size_t from = 0; from <= n; from += 1 + n / 9) {
		size_t left = cut_all(spooled, from, again, CUTS_MAX);

		same = same && left == n - from;
		for (size_t i = 0; i < left; i++) {
			same = same && is_same_cut(&again[i], &cuts[from + i]);
			free(again[i].data);
		}
	}
	unit_check(same, "cut from any piece on, the pieces are the same");
	free(again);
}

/* Messages in any order, some twice, with others between them. */
static void test_receive(const struct fleet_spooled *spooled, struct fleet_cut *cuts, size_t n)
{
	struct fleet_received counts = { 0 };
	struct fleet_receiver *receiver;
	char text[4][24];
	uint64_t twice = 0;
	const char *why;

	receiver = fleet_receiver_create(&spooled->manifest, below("got"), 1u << 30, &why);
	for (size_t i = n; i > 1; i--) {
		size_t k = below_number((uint32_t)i);
		struct fleet_cut cut = cuts[i - 1];

		cuts[i - 1] = cuts[k];
		cuts[k] = cut;
	}
	for (size_t i = 0; i < n; i++) {
		struct fleet_piece piece = piece_of(&cuts[i], spooled->manifest.run, text);

		fleet_receive(receiver, &piece);
		for (unsigned int k = below_number(3); k; k--, twice++)
			fleet_receive(receiver, &piece);
		piece.run = below_number(2) ? "other" : NULL;
		fleet_receive(receiver, &piece);
		piece.run = spooled->manifest.run;
		piece.at = "99999999999";
		fleet_receive(receiver, &piece);
	}
	unit_check(fleet_receiver_is_whole(receiver), "all pieces have come");
	unit_check(fleet_receiver_finish(receiver, &counts) && counts.taken == n &&
			   counts.twice == twice && counts.foreign == 2 * n && !counts.missing &&
			   !counts.damaged,
		   "each once, and others were left out");
	fleet_receiver_destroy(receiver);
	unit_check(run("cd %s && rm spool/a.ready/trace/other && diff -r got spool/a.ready/trace &&"
		       " rm -r got",
		       base),
		   "the files are equal");
}

static void test_missing(const struct fleet_spooled *spooled, struct fleet_cut *cuts, size_t n)
{
	struct fleet_received counts = { 0 };
	struct fleet_receiver *receiver;
	uint64_t missing = 0, bytes = 0;
	struct stat file;
	char text[4][24];
	const char *why;

	receiver = fleet_receiver_create(&spooled->manifest, below("got"), 1u << 30, &why);
	for (size_t i = 0; i < n; i++) {
		struct fleet_piece piece = piece_of(&cuts[i], spooled->manifest.run, text);
		const char *name = spooled->manifest.files[cuts[i].file].name;

		if (below_number(3)) {
			fleet_receive(receiver, &piece);
			bytes += strcmp(name, "cpu0") ? 0 : cuts[i].bytes;
		} else {
			missing++;
		}
	}
	unit_check(!fleet_receiver_is_whole(receiver) && fleet_receiver_finish(receiver, &counts) &&
			   counts.missing == missing && counts.taken == n - missing,
		   "what is missing is counted");
	unit_check(!stat(below("got/cpu0"), &file) && (uint64_t)file.st_size == bytes,
		   "a stream has the packets that came");
	fleet_receiver_discard(receiver);
	fleet_receiver_destroy(receiver);
	unit_check(access(below("got"), F_OK) && errno == ENOENT, "and is removed");
	receiver = fleet_receiver_create(&spooled->manifest, below("got"), 1000, &why);
	unit_check(!receiver && access(below("got"), F_OK), "one that is too large is not begun");
}

static void test_pieces(int spool)
{
	struct fleet_cut *cuts = calloc(CUTS_MAX, sizeof(*cuts));
	struct fleet_spooled spooled;
	char *head;
	size_t n;

	unit_check(make_spool("a.ready", 40), "a spool");
	unit_check(fleet_spooled_open(spool, "a", "host", &spooled), "a capture of it");
	unit_check(!strcmp(spooled.manifest.host, "host") && spooled.manifest.n == 5,
		   "its head has the files of a trace, and no others");
	n = cut_all(&spooled, 0, cuts, CUTS_MAX);
	unit_check(n > 50 && n < CUTS_MAX, "it is cut");
	test_resume(&spooled, cuts, n);
	test_receive(&spooled, cuts, n);
	test_missing(&spooled, cuts, n);
	head = strdup(spooled.head);
	fleet_spooled_note(&spooled, 17);
	fleet_spooled_close(&spooled);
	unit_check(fleet_spooled_open(spool, "a", "other", &spooled) && spooled.sent == 17 &&
			   !strcmp(spooled.head, head),
		   "the next process has the same head, and goes on");
	fleet_spooled_close(&spooled);
	run("cd %s/spool/a.ready && echo x >sent && echo '{' >head.json", base);
	unit_check(fleet_spooled_open(spool, "a", "host", &spooled) && !spooled.sent &&
			   !strcmp(spooled.head, head),
		   "if its notes are damaged, it makes the same head, and begins anew");
	unit_check(fleet_spooled_remove(spool, &spooled) && access(below("spool/a.sent"), F_OK) &&
			   access(below("spool/a.ready"), F_OK),
		   "it is removed");
	fleet_spooled_close(&spooled);
	for (size_t i = 0; i < n; i++)
		free(cuts[i].data);
	free(cuts);
	free(head);
}

/* ------------------------------------------------------------------------- spool */

static void test_recovery(void)
{
	char oldest[FLEET_CAPTURE_MAX];
	struct fleet_spooled spooled;
	int spool;

	run("cd %s/spool && mkdir -p b.new/trace c.new/trace d.sent/trace/.kernlens e.ready/trace"
	    " x.y.new/trace f.bad '../keep' && : >b.new/trace/metadata && : >d.sent/trace/cpu0 &&"
	    " : >d.sent/trace/.kernlens/manifest && ln -s ../../keep g.ready && : >file.ready &&"
	    " ln -s ../keep z.sent && : >../keep/file",
	    base);
	spool = fleet_spool_open(below("spool"), false, false);
	unit_check(!access(below("spool/b.new"), F_OK) && access(below("spool/d.sent"), F_OK),
		   "while a recorder writes, only what was sent is removed");
	close(spool);
	spool = fleet_spool_open(below("spool"), true, true);
	unit_check(!access(below("spool/b.ready/trace/metadata"), F_OK) &&
			   access(below("spool/c.new"), F_OK) &&
			   access(below("spool/c.ready"), F_OK),
		   "one that was being written is ready, unless it has nothing");
	unit_check(!access(below("keep/file"), F_OK) && !access(below("spool/f.bad"), F_OK),
		   "links are not followed, and what was set aside stays");
	unit_check(fleet_spool_open(below("spool"), true, true) < 0 && errno == EWOULDBLOCK,
		   "a spool has one user");
	unit_check(fleet_spool_count(spool, oldest) == 4 && !strcmp(oldest, "b"), "the oldest");
	unit_check(!fleet_spooled_open(spool, "g", "host", &spooled), "a link is no capture");
	unit_check(!fleet_spooled_open(spool, "e", "host", &spooled), "nor is an empty trace");
	fleet_spool_set_aside(spool, "e");
	unit_check(fleet_spool_count(spool, oldest) == 3, "it is set aside");
	unit_check(fleet_spooled_open(spool, "b", "host", &spooled) &&
			   json_is_true(json_object_get(spooled.manifest.about, "interrupted")),
		   "without what its recorder says, a capture was cut short");
	fleet_spooled_close(&spooled);
	close(spool);
}

int main(void)
{
	int spool;

	if (!mkdtemp(base))
		return 1;
	test_names();
	test_heads();
	run("mkdir %s/spool", base);
	spool = fleet_spool_open(below("spool"), true, true);
	unit_check(spool >= 0, "a spool is opened");
	test_pieces(spool);
	close(spool);
	test_recovery();
	run("rm -r %s", base);
	return unit_end();
}
