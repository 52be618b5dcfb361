// SPDX-License-Identifier: GPL-2.0
/*
 * Reads /proc/kallsyms. The file's text is kept and cut into names in place. Symbols are sorted by
 * address, and a hash table finds them by name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <kernlens/buffer.h>
#include <kernlens/symbols.h>
#include "../base/base.h"
#include "../base/names.h"
#include "../base/plain.h"

#define READ_BYTES (1u << 20)
#define FILE_MAX (256u << 20) /* a kernel's list has about ten MiB */
#define FAR (16u << 20) /* no symbol is that large */
#define NEAR 4096u
#define KERNEL "kernel"

struct symbol {
	uint64_t address;
	uint32_t name; /* offset in the text */
	uint32_t module; /* 0: the kernel */
	char type;
};

struct kl_symbols {
	struct kl_buffer text;
	struct symbol *symbol;
	size_t n;
	size_t capacity;
	uint32_t *table; /* by hash of the name, index of the first symbol plus 1; 0: none */
	uint32_t *next; /* for each symbol, the next one with the same hash, likewise */
	uint32_t mask;
	bool hidden;
};

static int read_all(struct kl_buffer *text, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd < 0)
		return kl_fail_system(errno, "cannot open %s", path);
	do {
		char *at = kl_buffer_reserve(text, READ_BYTES);

		n = at ? read(fd, at, READ_BYTES) : -1;
		if (n > 0)
			text->length += n;
		if (text->length > FILE_MAX) {
			close(fd);
			return kl_fail(EINVAL, "%s is too long", path);
		}
	} while (n > 0 || (n < 0 && !text->error && errno == EINTR));
	n = n ? -errno : 0;
	close(fd);
	if (text->error)
		return kl_fail(ENOMEM, "out of memory");
	if (n)
		return kl_fail_system(-n, "cannot read %s", path);
	kl_buffer_add_char(text, '\n');
	return text->error ? kl_fail(ENOMEM, "out of memory") : 0;
}

/* Parse "ffffffff81000000 T name\t[module]" up to @end. Returns false for other lines. */
static bool parse_line(char *text, char *line, char *end, struct symbol *symbol)
{
	uint64_t address = 0;
	char *at = line, *bracket;

	for (; at < end && *at != ' '; at++) {
		unsigned int digit = *at <= '9' ? *at - '0' : (*at | 0x20) - 'a' + 10;

		if (digit > 15)
			return false;
		address = address << 4 | digit;
	}
	if (end - at < 4 || at[2] != ' ')
		return false;
	*symbol = (struct symbol){ .address = address, .type = at[1], .name = at + 3 - text };
	*end = 0;
	bracket = memchr(at, '\t', end - at);
	if (bracket) {
		*bracket = 0;
		if (bracket[1] == '[' && end[-1] == ']') {
			end[-1] = 0;
			symbol->module = bracket + 2 - text;
			kl_make_plain(bracket + 2, end - 1 - (bracket + 2));
		}
	}
	/* Names are printed unchanged. */
	kl_make_plain(at + 3, strlen(at + 3));
	return true;
}

static int parse(struct kl_symbols *symbols)
{
	char *text = symbols->text.data, *end = text + symbols->text.length;

	symbols->hidden = true;
	for (char *line = text, *next; line < end; line = next) {
		struct symbol *grown = kl_array_grow(symbols->symbol, symbols->n,
						     &symbols->capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		symbols->symbol = grown;
		next = (char *)memchr(line, '\n', end - line) + 1;
		if (!parse_line(text, line, next - 1, &grown[symbols->n]))
			continue;
		if (grown[symbols->n].address)
			symbols->hidden = false;
		symbols->n++;
	}
	return 0;
}

/* By address. At the same address, functions first, then in the file's order. */
static int compare(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;
	bool a_function = (a->type | 0x20) == 't', b_function = (b->type | 0x20) == 't';

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a_function != b_function)
		return a_function ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* The kernel's symbols are in order already; those of modules follow. */
static void sort(struct symbol *symbol, size_t n)
{
	size_t sorted = 1, least;

	while (sorted < n && compare(&symbol[sorted - 1], &symbol[sorted]) <= 0)
		sorted++;
	if (sorted >= n)
		return;
	least = sorted;
	for (size_t i = sorted + 1; i < n; i++)
		if (compare(&symbol[i], &symbol[least]) < 0)
			least = i;
	while (sorted && compare(&symbol[sorted - 1], &symbol[least]) > 0)
		sorted--;
	qsort(symbol + sorted, n - sorted, sizeof(*symbol), compare);
}

static uint32_t hash_name(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash ^ hash >> 15;
}

static int index_names(struct kl_symbols *symbols)
{
	uint32_t size = 16;

	while (size < symbols->n)
		size *= 2;
	symbols->table = calloc(size, sizeof(*symbols->table));
	symbols->next = calloc(symbols->n, sizeof(*symbols->next));
	if (!symbols->table || !symbols->next)
		return kl_fail(ENOMEM, "out of memory");
	symbols->mask = size - 1;
	/* Add each to the front of its hash chain: constant time even if all names are equal. */
	for (size_t i = symbols->n; i--;) {
		uint32_t hash = hash_name(symbols->text.data + symbols->symbol[i].name);
		uint32_t *first = &symbols->table[hash & symbols->mask];

		symbols->next[i] = *first;
		*first = (uint32_t)i + 1;
	}
	return 0;
}

struct kl_symbols *kl_symbols_open(const char *path)
{
	struct kl_symbols *symbols = calloc(1, sizeof(*symbols));
	int ret;

	if (!path)
		path = KL_SYMBOLS_PATH;
	if (!symbols) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	ret = read_all(&symbols->text, path);
	if (!ret)
		ret = parse(symbols);
	if (!ret && !symbols->n)
		ret = kl_fail(EINVAL, "%s has no symbols", path);
	if (!ret) {
		sort(symbols->symbol, symbols->n);
		ret = index_names(symbols);
	}
	if (!ret)
		return symbols;
	kl_symbols_close(symbols);
	errno = -ret;
	return NULL;
}

void kl_symbols_close(struct kl_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->table);
	free(symbols->next);
	free(symbols->symbol);
	kl_buffer_deinit(&symbols->text);
	free(symbols);
}

bool kl_symbols_hidden(const struct kl_symbols *symbols)
{
	return symbols->hidden;
}

static void show(const struct kl_symbols *symbols, size_t index, struct kl_symbol *symbol)
{
	const struct symbol *s = &symbols->symbol[index];

	symbol->address = s->address;
	symbol->name = symbols->text.data + s->name;
	symbol->module = s->module ? symbols->text.data + s->module : "";
	symbol->type = s->type;
}

/* Does @module match the @length bytes at @wanted? */
static bool is_module(const char *module, const char *wanted, size_t length)
{
	if (!*module)
		module = KERNEL;
	return strlen(module) == length && !memcmp(module, wanted, length);
}

static int fail_unknown(const struct kl_symbols *symbols, const char *whole, const char *name)
{
	struct kl_near near;

	kl_near_init(&near, name, strlen(name));
	for (size_t i = 0; i < symbols->n; i++)
		kl_near_offer(&near, symbols->text.data + symbols->symbol[i].name);
	if (!near.best)
		return kl_fail(ENOENT, "the kernel has no symbol \"%s\"", whole);
	return kl_fail(ENOENT, "the kernel has no symbol \"%s\"; did you mean \"%s\"?", whole,
		       near.best);
}

unsigned int kl_symbols_lookup(const struct kl_symbols *symbols, const char *name,
			       struct kl_symbol *symbol)
{
	const char *colon = strchr(name, ':'), *plain = colon ? colon + 1 : name;
	unsigned int found = 0;

	for (uint32_t i = symbols->table[hash_name(plain) & symbols->mask]; i;
	     i = symbols->next[i - 1]) {
		struct kl_symbol one;

		show(symbols, i - 1, &one);
		if (strcmp(one.name, plain) != 0 ||
		    (colon && !is_module(one.module, name, colon - name)))
			continue;
		if (!found++ || (*symbol->module && !*one.module))
			*symbol = one;
	}
	return found;
}

int kl_symbols_find(const struct kl_symbols *symbols, const char *name, struct kl_symbol *symbol)
{
	const char *colon = strchr(name, ':');
	unsigned int found = kl_symbols_lookup(symbols, name, symbol);

	if (!found)
		return fail_unknown(symbols, name, colon ? colon + 1 : name);
	if (symbols->hidden)
		return kl_fail(
			EACCES,
			"the address of %s is hidden: reading kernel symbols needs CAP_SYSLOG "
			"(sysctl kernel.kptr_restrict)",
			name);
	return (int)found;
}

/* Index of the first symbol after an address. */
static size_t find_behind(const struct kl_symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->symbol[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The key of a class of locks has no size without lock debugging: another variable is there. */
static bool is_lock_key(const struct kl_symbols *symbols, size_t i)
{
	const char *name = symbols->text.data + symbols->symbol[i].name;

	return !strncmp(name, "__key", 5) && (!name[5] || name[5] == '.');
}

int kl_symbols_at(const struct kl_symbols *symbols, uint64_t address, struct kl_symbol *symbol,
		  uint64_t *offset)
{
	size_t low, last;

	if (symbols->hidden)
		return kl_fail(EACCES,
			       "the kernel's addresses are hidden: reading them needs CAP_SYSLOG");
	low = find_behind(symbols, address);
	if (!low || address - symbols->symbol[low - 1].address >= FAR)
		return kl_fail(ENOENT, "no symbol is at %#llx", (unsigned long long)address);
	/* The first of several at the same address. */
	last = --low;
	while (low && symbols->symbol[low - 1].address == symbols->symbol[low].address)
		low--;
	while (low < last && is_lock_key(symbols, low))
		low++;
	show(symbols, low, symbol);
	*offset = address - symbol->address;
	return 0;
}

/*
 * Like kl_symbols_at(), but beyond a page after a symbol's start, only trust it if the next symbol
 * belongs to the same module.
 */
int kl_symbols_around(const struct kl_symbols *symbols, uint64_t address, struct kl_symbol *symbol,
		      uint64_t *offset)
{
	size_t behind;
	int ret = kl_symbols_at(symbols, address, symbol, offset);
	struct kl_symbol next;

	if (ret || *offset < NEAR)
		return ret;
	behind = find_behind(symbols, address);
	if (behind < symbols->n) {
		show(symbols, behind, &next);
		if (!strcmp(next.module, symbol->module))
			return 0;
	}
	return kl_fail(ENOENT, "no symbol is at %#llx", (unsigned long long)address);
}

bool kl_symbols_next(const struct kl_symbols *symbols, const char *pattern, bool functions,
		     size_t *position, struct kl_symbol *symbol)
{
	const char *colon = pattern ? strchr(pattern, ':') : NULL;
	const char *plain = colon ? colon + 1 : pattern;

	while (*position < symbols->n) {
		show(symbols, (*position)++, symbol);
		if (functions && (symbol->type | 0x20) != 't')
			continue;
		if (colon && !is_module(symbol->module, pattern, colon - pattern))
			continue;
		if (!plain || kl_name_fits(plain, symbol->name))
			return true;
	}
	return false;
}
