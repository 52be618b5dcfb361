// SPDX-License-Identifier: GPL-2.0
/* A hardware error that the module mce-inject injects. */
#include "cause.h"

#define DIR "/sys/kernel/debug/mce-inject/"

int main(void)
{
	MUST_RUN("modprobe", "mce-inject");
	/* The kernel strips the last character as the line's newline. */
	must_write(DIR "flags", "sw\n");
	must_write(DIR "status", "0x8c00000000000042");
	must_write(DIR "addr", "0x1234000");
	must_write(DIR "misc", "0x8c");
	must_write(DIR "cpu", "1");
	/* Writing the bank triggers the injection. */
	must_write(DIR "bank", "3");
	sleep_ms(500);
	fact("mce_record status=0x8c00000000000042 addr=0x1234000 misc=0x8c cpu=1 bank=3");
	RUN("modprobe", "-r", "mce-inject");
	return 0;
}
