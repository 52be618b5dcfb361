/* SPDX-License-Identifier: GPL-2.0 */
/* Tests of a trace that babeltrace 1 and 2 read. */
#ifndef KL_TESTS_BABELTRACE_H
#define KL_TESTS_BABELTRACE_H

/* babeltrace2 prints 12 records of each CPU, each as the library reads it. */
void test_babeltrace(const char *directory, unsigned int cpus);

/* babeltrace 1 prints that many records, without a warning. */
void test_babeltrace1(const char *directory, int records);

#endif /* KL_TESTS_BABELTRACE_H */
