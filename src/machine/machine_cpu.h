/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the machine is said to be: processor, CPUs, caches, quota.
 *
 * Input    the kernel's files, below `root` ("" is the machine's own). What is
 *          missing or makes no sense has a usual value, or none.
 */
#ifndef AXP_MACHINE_CPU_H
#define AXP_MACHINE_CPU_H
#include "machine/machine.h"

#define AXP__MOST_CPUS 1024

/* What tells one machine from another: processor, quota, threads. */
void axp__cpu_identify(struct axp__machine *m, const char *root);
/* And its counts, and the levels of memory with their sizes. */
void axp__cpu_look(struct axp__machine *m, const char *root);
/* The CPUs that this process may use; how many. */
size_t axp__cpu_allowed(int *out, size_t cap);
/* CPUs that the control groups allow; 0: no limit. */
double axp__cpu_quota(const char *root);
/* Bytes that may be used for measuring. */
uint64_t axp__cpu_room(const char *root);

#endif
