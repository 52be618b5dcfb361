// SPDX-License-Identifier: GPL-2.0
/* Hashes /proc/modules, including the addresses if they are visible. */
#include <stdio.h>

#include "../base/base.h"
#include "modules.h"

uint64_t kl_modules_hash(void)
{
	FILE *file = fopen("/proc/modules", "re");
	char name[64], address[32];
	uint64_t hash = KL_HASH_START;

	while (file && fscanf(file, "%63s %*s %*s %*s %*s %31s%*[^\n]", name, address) == 2) {
		hash = kl_hash_bytes(hash, name, strlen(name));
		hash = kl_hash_bytes(hash, address, strlen(address));
	}
	if (file)
		fclose(file);
	return hash;
}
