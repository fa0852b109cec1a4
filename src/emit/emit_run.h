/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What ran and when, as texts for the head of a report. */
#ifndef AXP_EMIT_RUN_H
#define AXP_EMIT_RUN_H
#include "model/model_view.h"

/* The command as one would type it in a shell: arguments that need it are
 * quoted. Without arguments the program's path. malloc; NULL: neither is
 * known, or no memory. */
char *axp__run_command(const axp_view *v);

/* When the times of the view begin: "2031-05-06T14:03:11Z", or "" if that is
 * not known. */
void axp__run_started(const axp_view *v, char out[32]);

#endif
