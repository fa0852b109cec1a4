/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_file.h: recordings as files: what is in them, whether they are
 * sound, and one clean file of what a killed program left behind.
 *
 * Link with -laxprof. Views of files are axp_open's, in axprof_read.h.
 *
 * Input      files are not trusted: any bytes lead to an answer.
 */
#ifndef AXPROF_FILE_H
#define AXPROF_FILE_H
#include <stdio.h>

#include "axprof.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Run, processes, threads, events by kind, bytes an event, cuts, duration:
 * what `axprof info` prints. */
AXP_API axp_status axp_file_info_write(const char *const *paths, size_t n,
                                       FILE *to);
/* Every block; the timeline folded again agrees with the stored statistics.
 * AXP_OK: sound; else what is wrong, on `to`. */
AXP_API axp_status axp_file_check(const char *path, FILE *to);
/* Spool and file into one clean file; out NULL: in place. */
AXP_API axp_status axp_file_pack(const char *path, const char *out);

#ifdef __cplusplus
}
#endif
#endif
