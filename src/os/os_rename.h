/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A new name for a file, which must not be another's.
 *
 * Place  whoever writes a file under another name first.
 */
#ifndef AXP_OS_RENAME_H
#define AXP_OS_RENAME_H

/* 0, or errno: EEXIST where there is a file of that name. */
int axp__rename_new(const char *from, const char *to);

#endif
