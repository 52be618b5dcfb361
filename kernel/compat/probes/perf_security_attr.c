// SPDX-License-Identifier: GPL-2.0
/* until v6.14: security_perf_event_open also takes the attributes of the event */
#include <linux/security.h>

int kl_check_perf_security(struct perf_event_attr *attr);

int kl_check_perf_security(struct perf_event_attr *attr)
{
	return security_perf_event_open(attr, 0);
}
