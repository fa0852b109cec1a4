/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Libraries that a program closes: another one may come to where their code was,
 * and what an adapter knows of places in it is to be forgotten.
 *
 * Not here   what is to be forgotten, and of which library: what is known late
 *            has a wrong name, and no more, where it is never read as code.
 */
#ifndef COMMON_CLOSE_H
#define COMMON_CLOSE_H

/* To be called by the adapter's constructor, once. The function is called after
 * each dlclose, by the thread that called it, also if nothing was unloaded. */
void common_close_tell(void (*forget)(void));

#endif
