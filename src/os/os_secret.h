/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Values of arguments that look like secrets, hidden before they are stored.
 *
 *   --password=x  --token x  API_KEY=x  scheme://user:x@host  Bearer x
 *   and words that begin as keys of well-known services do (sk-, ghp_, AKIA …)
 *
 * become *** each. A rule, not a promise: what looks like nothing special (-p x)
 * is not known for a secret.
 *
 * Place  os_about.c, for the arguments of a process.
 */
#ifndef AXP_OS_SECRET_H
#define AXP_OS_SECRET_H
#include <stddef.h>

/* Copies len bytes of arguments, a 0 between them, as far as they fit; returns
 * how many bytes that made. */
size_t axp__secret_hide(const char *from, size_t len, char *to, size_t cap);

#endif
