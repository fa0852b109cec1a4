/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* In which namespace of process ids a process is: the same number means another
 * process in each. */
#ifndef AXP_OS_NAMESPACE_H
#define AXP_OS_NAMESPACE_H
#include <stdint.h>

/* The number of its namespace, the same for all who are in it as long as the
 * machine runs; pid 0: of this process. 0: not known, as where there is no /proc
 * or one may not look. One system call, no memory; errno stays. */
uint64_t axp__pid_namespace(uint64_t pid);

#endif
