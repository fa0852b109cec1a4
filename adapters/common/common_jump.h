/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Jumps (longjmp and its kin) are told of before they are made: who is left by
 * one does not come back to say that it is over.
 *
 * Place    adapters whose wrappers note that this thread is inside of them.
 * Not here exceptions, and who changes to another stack by itself.
 */
#ifndef COMMON_JUMP_H
#define COMMON_JUMP_H

/* To be called by the adapter's constructor, once. The function may be called
 * in a signal handler. */
void common_jump_tell(void (*tell)(void));

#endif
