/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ends of a process that run no destructors: _exit and _Exit, by which children
 * of fork end as a rule. What an adapter still has to tell is told before.
 *
 * Not here   processes that are killed, or become another program.
 */
#ifndef COMMON_EXIT_H
#define COMMON_EXIT_H

/* To be called by the adapter's constructor, once. The function may be called
 * in a signal handler; never in a child of vfork, whose memory is its parent's. */
void common_exit_tell(void (*tell)(void));

#endif
