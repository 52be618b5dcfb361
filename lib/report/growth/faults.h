/* SPDX-License-Identifier: GPL-2.0 */
/* How many pages the page faults of a process brought. */
#ifndef KL_LIB_REPORT_GROWTH_FAULTS_H
#define KL_LIB_REPORT_GROWTH_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct kl_growth_fault - a page fault
 * @row: number of its row
 * @page: number of the page
 * @ms: when, since the trace began
 */
struct kl_growth_fault {
	size_t row;
	uint64_t page;
	uint32_t ms;
};

/**
 * struct kl_growth_faults - the page faults of a process
 * @rss: pages at its latest event, as the kernel has counted them, if it @has_rss
 * @unseen: pages that faults have brought which @rss does not include yet
 * @last: the latest fault
 * @has_written: to a page that was not there; the process had no other event after it
 * @read: @n faults that have read, of which is not known yet what they brought
 */
struct kl_growth_faults {
	bool has_rss;
	bool has_written;
	uint64_t rss;
	uint64_t unseen;
	struct kl_growth_fault last;
	struct kl_growth_fault *read;
	size_t n;
};

/* The page is not known. */
#define KL_GROWTH_NOWHERE UINT64_MAX

/*
 * Called for each page that a fault brought: @is_new if the page was not there before, @is_guess if
 * the fault was elsewhere. Returns a negative errno, 1 if the page is counted for this fault, or 0
 * if it belongs to another.
 */
typedef int (*kl_growth_take_fn)(void *context, const struct kl_growth_fault *fault, uint64_t page,
				 bool is_new, bool is_guess);

/* A fault with its error code. Returns 0 or a negative errno. */
int kl_growth_faults_add(struct kl_growth_faults *faults, const struct kl_growth_fault *fault,
			 uint64_t error_code, kl_growth_take_fn take, void *context);

/* An event of the process, with its RSS in pages. Returns 0 or a negative errno. */
int kl_growth_faults_settle(struct kl_growth_faults *faults, uint64_t rss, kl_growth_take_fn take,
			    void *context);

/* The process has no more events. Returns 0 or a negative errno. */
int kl_growth_faults_end(struct kl_growth_faults *faults, kl_growth_take_fn take, void *context);

void kl_growth_faults_deinit(struct kl_growth_faults *faults);

#endif /* KL_LIB_REPORT_GROWTH_FAULTS_H */
