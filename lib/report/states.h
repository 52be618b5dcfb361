/* SPDX-License-Identifier: GPL-2.0 */
/* The state of the task that ran, as sched_switch reports it; 0: it is ready. */
#ifndef KL_LIB_REPORT_STATES_H
#define KL_LIB_REPORT_STATES_H

#define KL_STATE_UNINTERRUPTIBLE 0x2
#define KL_STATE_STOPPED 0x4c /* stopped, traced or parked */
#define KL_STATE_DEAD 0x30 /* it has exited */
#define KL_STATE_IDLE 0x80 /* a kernel thread that has nothing to do sleeps */
#define KL_STATE_PREEMPTED 0x100 /* and is ready */

#endif /* KL_LIB_REPORT_STATES_H */
