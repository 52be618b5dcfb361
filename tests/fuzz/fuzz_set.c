// SPDX-License-Identifier: GPL-2.0
/* Requests to set parameters of a process (client/set_parse.c): NAME=VALUE, one per line. */
#include <kernlens/set.h>

#include "shared.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct kl_setting settings[16];
	char *text = fuzz_text(data, size), *rest = text, *line;
	size_t n = 0;

	while (n < 16 && (line = strsep(&rest, "\n"))) {
		if (!kl_setting_parse(&settings[n], line))
			fuzz_assert(kl_setting_name(settings[n++].what));
		else
			fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
	}
	fuzz_assert(kl_settings_join(settings, n) <= n);
	free(text);
	return 0;
}
