// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Checks of names, used by both ends. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

#define TOKEN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

bool fleet_is_token(const char *text, size_t most)
{
	size_t length = text ? strnlen(text, most) : 0;

	return length && length < most && strspn(text, TOKEN) == length;
}

bool fleet_is_stream(const char *name)
{
	size_t digits = strncmp(name, "cpu", 3) ? 0 : strspn(name + 3, "0123456789");

	/* One spelling of each number, or two files would be one CPU. */
	return digits && digits <= 5 && !name[3 + digits] && (name[3] != '0' || digits == 1);
}

const char *const fleet_files[] = { "metadata", ".kernlens/manifest", ".kernlens/stacks",
				    ".kernlens/symbols", ".kernlens/cgroups" };
const size_t fleet_n_files = sizeof(fleet_files) / sizeof(*fleet_files);

bool fleet_is_file(const char *name)
{
	for (size_t i = 0; i < fleet_n_files; i++)
		if (!strcmp(name, fleet_files[i]))
			return true;
	return fleet_is_stream(name);
}

bool fleet_matches(const char *patterns, const char *host)
{
	char copy[512], *rest = copy, *pattern;

	if (strlen(patterns) >= sizeof(copy))
		return false;
	strcpy(copy, patterns);
	while ((pattern = strsep(&rest, ",")))
		if (*pattern && !fnmatch(pattern, host, 0))
			return true;
	return false;
}

/* Is it a control character, or a part of one (C1) in UTF-8? */
static bool is_control(const unsigned char *at, bool first)
{
	if (*at < ' ' || *at == 0x7f || (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0))
		return true;
	return !first && *at >= 0x80 && *at < 0xa0 && at[-1] == 0xc2;
}

void fleet_clean(char *to, size_t bytes, const char *from)
{
	const unsigned char *at = (const unsigned char *)from;
	size_t n = 0;

	for (; *at && n + 1 < bytes; at++)
		to[n++] = is_control(at, at == (const unsigned char *)from) ? '?' : (char)*at;
	/* Half a character would not be UTF-8. */
	if ((*at & 0xc0) == 0x80) {
		while (n && ((unsigned char)to[n - 1] & 0xc0) == 0x80)
			n--;
		n -= n && (unsigned char)to[n - 1] >= 0xc0;
	}
	to[n] = 0;
}
