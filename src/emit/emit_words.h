/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The words that reports use for the values of the public enums; NULL for
 * what is not known or not said. */
#ifndef AXP_EMIT_WORDS_H
#define AXP_EMIT_WORDS_H
#include "axprof/axprof_read.h"
#include "model/model_category.h"

const char *axp__word_dtype(axp_dtype dtype);
const char *axp__word_mem(axp_mem kind);
const char *axp__word_severity(axp_severity severity); /* "low" … "critical" */

#endif
