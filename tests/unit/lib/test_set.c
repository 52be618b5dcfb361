// SPDX-License-Identifier: GPL-2.0
/* Requests to set parameters of a process, as text: what they mean, and which are invalid. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <kernlens/internal.h>
#include "unit.h"

static struct kl_setting s;

static void takes(const char *text, const char *asked)
{
	int error = kl_setting_parse(&s, text);
	char why[600];

	snprintf(why, sizeof(why), "%d, \"%s\", %s", error, s.asked, kl_error_text());
	unit_result(!error && !strcmp(s.asked, asked) &&
			    !strncmp(kl_setting_name(s.what), text, strcspn(text, "=")),
		    text, why);
}

static void refuses(const char *text, int error)
{
	struct kl_setting bad;

	unit_result(kl_setting_parse(&bad, text) == -error && *kl_error_text(), text,
		    kl_error_text());
}

static void test_numbers(void)
{
	takes("nice=-20", "-20");
	unit_check(s.what == KL_SET_NICE && s.number == -20, "a nice value");
	takes("nice=+7", "7");
	takes("priority=99", "99");
	takes("oom_score_adj=-1000", "-1000");
	takes("oom_score_adj=2147483647", "2147483647");
	refuses("nice=", EINVAL);
	refuses("nice=5x", EINVAL);
	refuses("nice=--5", EINVAL);
	refuses("nice= 5", EINVAL);
	refuses("nice=2147483648", EINVAL);
	refuses("nice", EINVAL);
	refuses("nic=5", ENOENT);
	refuses("nicer=5", ENOENT);
	refuses("=5", ENOENT);
	refuses("", ENOENT);
}

static void test_policies(void)
{
	takes("policy=batch", "batch");
	takes("policy=fifo:10", "fifo:10");
	unit_check(s.policy.number == 1 && s.policy.priority == 10 && !s.policy.reset_on_fork,
		   "a policy with a priority");
	takes("policy=rr:1,reset_on_fork", "rr:1,reset_on_fork");
	unit_check(s.policy.reset_on_fork, "and for itself alone");
	takes("policy=deadline:10ms:20ms:30ms", "deadline:10000000:20000000:30000000");
	unit_check(s.policy.number == 6 && s.policy.runtime_ns == 10000000 &&
			   s.policy.deadline_ns == 20000000 && s.policy.period_ns == 30000000,
		   "deadlines");
	takes("policy=deadline:1us:2000", "deadline:1000:2000:0");
	takes("policy=other:0", "other");
	refuses("policy=fif", EINVAL);
	refuses("policy=fifo:", EINVAL);
	refuses("policy=fifo:-1", EINVAL);
	refuses("policy=fifo:10,", EINVAL);
	refuses("policy=fifo:10,reset", EINVAL);
	refuses("policy=deadline:1ms", EINVAL);
	refuses("policy=deadline:1ms:", EINVAL);
	refuses("policy=deadline:1h:2h", EINVAL);
	refuses("policy=", EINVAL);
}

static size_t count_cpus(void)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(s.cpus) / sizeof(*s.cpus); i++)
		n += (size_t)__builtin_popcountl(s.cpus[i]);
	return n;
}

static void test_affinity(void)
{
	takes("affinity=0-1,3", "0-1,3");
	unit_check(s.cpus[0] == 0xb && count_cpus() == 3, "lists of CPUs");
	takes("affinity=0-8:4,64", "0-8:4,64");
	unit_check(s.cpus[0] == 0x111 && s.cpus[1] == 1, "steps");
	takes("affinity=8191", "8191");
	takes("affinity=all", "all");
	unit_check(count_cpus() == KL_SETTING_CPUS, "all");
	refuses("affinity=", EINVAL);
	refuses("affinity=1,", EINVAL);
	refuses("affinity=3-1", EINVAL);
	refuses("affinity=8192", EINVAL);
	refuses("affinity=0-18446744073709551615", EINVAL);
	refuses("affinity=0-7:0", EINVAL);
	refuses("affinity=0x3", EINVAL);
}

static void test_ioprio(void)
{
	takes("ioprio=idle", "idle");
	unit_check(s.ioprio == 3 << 13, "idle");
	takes("ioprio=best-effort:0", "best-effort:0");
	unit_check(s.ioprio == 2 << 13, "best effort");
	takes("ioprio=rt:7", "realtime:7");
	unit_check(s.ioprio == (1 << 13 | 7), "realtime");
	takes("ioprio=be", "best-effort:4");
	takes("ioprio=none", "none");
	unit_check(!s.ioprio, "none");
	refuses("ioprio=best", EINVAL);
	refuses("ioprio=rt:8192", EINVAL);
	refuses("ioprio=rt:x", EINVAL);
}

static bool is_limit(uint64_t soft, uint64_t hard)
{
	return s.limit.has_soft && s.limit.has_hard && s.limit.soft == soft && s.limit.hard == hard;
}

static void test_others(void)
{
	takes("timer_slack=50us", "50000");
	takes("timer_slack=2s", "2000000000");
	takes("timer_slack=0", "0");
	refuses("timer_slack=1m", EINVAL);
	refuses("timer_slack=-1", EINVAL);
	refuses("timer_slack=99999999999s", EINVAL);
	takes("cgroup=/a/b", "/a/b");
	refuses("cgroup=a", EINVAL);
	takes("limit.nofile=1024:4096", "1024:4096");
	unit_check(s.what == KL_SET_LIMIT + RLIMIT_NOFILE && is_limit(1024, 4096), "both limits");
	takes("limit.as=1G", "1073741824:1073741824");
	takes("limit.core=unlimited", "unlimited:unlimited");
	unit_check(is_limit(RLIM_INFINITY, RLIM_INFINITY), "none");
	takes("limit.cpu=60:", "60:");
	unit_check(s.limit.has_soft && !s.limit.has_hard, "the soft limit");
	takes("limit.cpu=:unlimited", ":unlimited");
	unit_check(!s.limit.has_soft && s.limit.has_hard, "the hard limit");
	refuses("limit.cpu=:", EINVAL);
	refuses("limit.cpu=", EINVAL);
	refuses("limit.cpu=1:2:3", EINVAL);
	refuses("limit.cpu=1X", EINVAL);
	refuses("limit.cpu=99999999T", EINVAL);
	refuses("limit.cpu=unlimitedly", EINVAL);
	refuses("limit.nosuch=1", ENOENT);
	refuses("limit", ENOENT);
}

static void test_join(void)
{
	struct kl_setting list[3];

	kl_setting_parse(&list[0], "priority=10");
	kl_setting_parse(&list[1], "nice=5");
	kl_setting_parse(&list[2], "policy=fifo");
	unit_check(kl_settings_join(list, 3) == 2 && list[0].what == KL_SET_NICE &&
			   list[1].what == KL_SET_POLICY && list[1].policy.priority == 10 &&
			   !strcmp(list[1].asked, "fifo:10"),
		   "a policy and its priority are one");
	kl_setting_parse(&list[0], "policy=rr:5");
	kl_setting_parse(&list[1], "priority=10");
	unit_check(kl_settings_join(list, 2) == 2, "a policy that has one already stays");
	unit_check(kl_settings_join(list + 1, 1) == 1, "and a priority alone");
	kl_setting_parse(&list[0], "policy=rr");
	kl_setting_parse(&list[2], "policy=batch");
	unit_check(kl_settings_join(list, 3) == 3, "of two policies it is nobody's");
}

int main(void)
{
	test_numbers();
	test_policies();
	test_affinity();
	test_ioprio();
	test_others();
	test_join();
	for (uint32_t i = 0; i < 64; i++)
		if (!kl_setting_name(i) != !kl_setting_help(i))
			unit_result(false, "each has a name and a help", NULL);
	return unit_end();
}
