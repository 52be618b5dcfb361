/* SPDX-License-Identifier: GPL-2.0 */
/* History from inside: its table of figures, and what sampler and database share. */
#ifndef KL_LIB_HISTORY_H
#define KL_LIB_HISTORY_H

#include <kernlens/history.h>
#include <kernlens/inspect.h>

/*
 * KL_HISTORY_FIGURE(name, unit, is_group, grows, scale, source, help)
 * Its id in the database is its place here: new ones come at the end.
 *   scale   what is stored is the source's number times this
 *   source  STAT: a line of /proc/stat; OWN: counted by the sampler; else a variable
 */
#define KL_HISTORY_FIGURES(F)                                                                 \
	F(load_1, "", 0, 0, 1e-3, VARIABLE, "Load average of a minute")                       \
	F(load_5, "", 0, 0, 1e-3, VARIABLE, "Load average of 5 minutes")                      \
	F(load_15, "", 0, 0, 1e-3, VARIABLE, "Load average of 15 minutes")                    \
	F(free_memory, "B", 0, 0, 1, VARIABLE, "RAM that nobody uses")                        \
	F(available_memory, "B", 0, 0, 1, VARIABLE, "RAM that could be had without swapping") \
	F(file_memory, "B", 0, 0, 1, VARIABLE, "RAM with pages of files")                     \
	F(anon_memory, "B", 0, 0, 1, VARIABLE, "RAM of processes that is of no file")         \
	F(free_swap, "B", 0, 0, 1, VARIABLE, "Swap space that nobody uses")                   \
	F(pgpgin, "KiB", 0, 1, 1, VARIABLE, "Read from storage")                              \
	F(pgpgout, "KiB", 0, 1, 1, VARIABLE, "Written to storage")                            \
	F(pswpin, "pages", 0, 1, 1, VARIABLE, "Pages read from swap")                         \
	F(pswpout, "pages", 0, 1, 1, VARIABLE, "Pages written to swap")                       \
	F(pgfault, "", 0, 1, 1, VARIABLE, "Page faults")                                      \
	F(pgmajfault, "", 0, 1, 1, VARIABLE, "Page faults that read from disk")               \
	F(interrupts, "", 0, 1, 1, STAT, "Interrupts, those of timers and between CPUs too")  \
	F(switches, "", 0, 1, 1, STAT, "Context switches")                                    \
	F(forks, "", 0, 1, 1, STAT, "Processes and threads created")                          \
	F(user_time, "ns", 0, 1, 1, STAT, "Time of all CPUs in user mode, niced too")         \
	F(system_time, "ns", 0, 1, 1, STAT, "In the kernel, interrupts too")                  \
	F(idle_time, "ns", 0, 1, 1, STAT, "Without work, waiting for storage too")            \
	F(processes, "", 0, 0, 1, OWN, "Processes that there are")                            \
	F(cpu_time, "ns", 1, 1, 1, OWN, "Time on CPUs")                                       \
	F(rss, "B", 1, 0, 1, OWN, "Memory that is in RAM; what is shared counts for each")    \
	F(io_bytes, "B", 1, 1, 1, OWN, "Read from and written to storage")                    \
	F(maj_faults, "", 1, 1, 1, OWN, "Page faults that read from disk")                    \
	F(min_faults, "", 1, 1, 1, OWN, "Page faults without I/O")                            \
	F(count, "", 1, 0, 1, OWN, "Processes of the group")

enum kl_history_figure_id {
#define F(name, ...) KL_HISTORY_##name,
	KL_HISTORY_FIGURES(F)
#undef F
	KL_HISTORY_FIGURE_COUNT
};

/* Of the machine they come first. */
#define KL_HISTORY_MACHINE KL_HISTORY_cpu_time
#define KL_HISTORY_GROUP (KL_HISTORY_FIGURE_COUNT - KL_HISTORY_MACHINE)

/* Groups that are kept: the first so many by CPU, memory, I/O and faults each. */
#define KL_HISTORY_TOP 10

/**
 * struct kl_history_sum - a figure over some looks
 * @sum: what it has grown by, or its value times seconds
 */
struct kl_history_sum {
	uint64_t samples;
	double seconds, low, high, sum;
};

/* One look's @value (what it grew by, or what it was) over @seconds. */
void kl_history_fold(struct kl_history_sum *sum, bool grows, double value, double seconds);

/**
 * struct kl_history_group - processes of one name and user
 * @sum: by figure, from KL_HISTORY_MACHINE on
 * @now: of the look at hand
 * @lists: a bit for each list that it is among the first of
 */
struct kl_history_group {
	uint64_t key;
	char comm[32];
	uint32_t uid;
	unsigned int lists;
	struct kl_history_sum sum[KL_HISTORY_GROUP];
	double now[KL_HISTORY_GROUP];
};

/* When the period of a level began that @time is in. */
int64_t kl_history_begin(const struct kl_history *history, enum kl_history_level level,
			 int64_t time);

int kl_history_write_begin(struct kl_history *history);

/* Adds to the summaries of all levels. @comm: NULL: of the machine. */
int kl_history_write(struct kl_history *history, int64_t minute, const char *comm, uint32_t uid,
		     unsigned int figure, const struct kl_history_sum *sum);

/* Brings what was written to disk, all or, after an @error, nothing; and takes away what is old. */
int kl_history_write_end(struct kl_history *history, int64_t minute, int error);

#endif /* KL_LIB_HISTORY_H */
