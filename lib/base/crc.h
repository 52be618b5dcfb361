/* SPDX-License-Identifier: GPL-2.0 */
/* CRC-32C, the checksum of iSCSI, ext4 and Btrfs. */
#ifndef KL_LIB_BASE_CRC_H
#define KL_LIB_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Continues from @crc, the result for the preceding bytes; start with 0. */
uint32_t kl_crc32c(uint32_t crc, const void *bytes, size_t length);

/* The same without the processor's instruction, which is slower. */
uint32_t kl_crc32c_table(uint32_t crc, const void *bytes, size_t length);

#endif /* KL_LIB_BASE_CRC_H */
