/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The running kernel's own code, read through /proc/kcore, to see what a tracer has patched and
 * restored; and the probes and hooks that exist.
 */
#ifndef KL_TESTS_TEXT_H
#define KL_TESTS_TEXT_H

#include <elf.h>

#include "fire.h"

struct text {
	u64 start;
	size_t bytes;
	u8 *copy;
};

static inline u64 symbol_address(const char *name)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[300], symbol[200], type;
	unsigned long address;
	u64 found = 0;

	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx %c %199s", &address, &type, symbol) == 3 &&
		    !strcmp(symbol, name))
			found = address;
	if (f)
		fclose(f);
	return found;
}

/* Offset of an address in /proc/kcore. */
static inline off_t kcore_offset(int fd, u64 address)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head))
		return -1;
	for (int i = 0; i < head.e_phnum; i++) {
		if (pread(fd, &part, sizeof(part), head.e_phoff + i * sizeof(part)) != sizeof(part))
			return -1;
		if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
		    address < part.p_vaddr + part.p_memsz)
			return part.p_offset + (address - part.p_vaddr);
	}
	return -1;
}

static inline struct text read_text(void)
{
	static u64 start, end;
	int fd = open("/proc/kcore", O_RDONLY);
	struct text text;
	size_t done = 0;
	off_t offset;

	if (!start) {
		start = symbol_address("_stext");
		end = symbol_address("_etext");
	}
	text = (struct text){ start, end - start, malloc(end - start) };
	offset = kcore_offset(fd, start);
	if (!start || fd < 0 || offset < 0 || !text.copy)
		bail("/proc/kcore");
	while (done < text.bytes) {
		ssize_t got = pread(fd, text.copy + done, text.bytes - done, offset + done);

		if (got <= 0)
			bail("/proc/kcore at %zu", done);
		done += got;
	}
	close(fd);
	return text;
}

/* Counts the places that differ (runs of up to 8 bytes); prints the first few. */
static inline u32 count_changes(const struct text *a, const struct text *b, bool print)
{
	u32 changes = 0;

	for (size_t i = 0; i < a->bytes; i++) {
		if (!(i & 4095) && i + 4096 <= a->bytes &&
		    !memcmp(a->copy + i, b->copy + i, 4096)) {
			i += 4095;
			continue;
		}
		if (a->copy[i] == b->copy[i])
			continue;
		if (print && changes < 5)
			printf("# text differs at %#llx\n", (unsigned long long)(a->start + i));
		changes++;
		i += 7;
	}
	return changes;
}

/* Probes attached to tracepoints by any user; @stimulus: the open device of kl_stimulus. */
static inline u32 probes_now(int stimulus)
{
	return fire_counts(stimulus).probes;
}

/* Functions hooked through ftrace by any user. */
static inline u32 hooks_now(void)
{
	FILE *f = fopen("/sys/kernel/tracing/enabled_functions", "r");
	char line[300];
	u32 n = 0;

	while (f && fgets(line, sizeof(line), f))
		n++;
	if (f)
		fclose(f);
	return n;
}

#endif /* KL_TESTS_TEXT_H */
