/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the kernel knows of the calling thread, its process and other threads of
 * that. */
#ifndef AXP_OS_THREAD_H
#define AXP_OS_THREAD_H
#include <stddef.h>
#include <stdint.h>

uint64_t axp__thread_id(void); /* gettid */
/* CPU time of a thread of this process; 0: there is no such thread (left). */
uint64_t axp__thread_cpu_ns(uint64_t id);
void axp__thread_comm(char *buf, size_t size);  /* its name; "" if unknown */
void axp__program_name(char *buf, size_t size); /* last part of its path */

/* Sleeps while the word has the value, at most so long (0: for ever), and
 * wakes all who do. Neither is a cancellation point. */
void axp__futex_wait(uint32_t *word, uint32_t value, long ns);
void axp__futex_wake(uint32_t *word);

#endif
