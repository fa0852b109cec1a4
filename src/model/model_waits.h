/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waits added up while a timeline is read, so that who reads it for something
 * else need not read it again for them.
 *
 * Place      axp_open, where there are samples; else axp_view_waits reads for
 *            itself.
 */
#ifndef AXP_MODEL_WAITS_H
#define AXP_MODEL_WAITS_H
#include "model/model_slots.h"
#include "model/model_stream.h"

struct axp__wait_sum;

/* All zero at the beginning. */
struct axp__wait_sums {
    struct axp__wait_sum *at;
    size_t n, cap;
    struct axp__slots slots;
};

/* Any record of the stream. False: no memory. */
bool axp__waits_take(struct axp__wait_sums *sums, const struct axp__stream *s,
                     const struct axp__record *r);
/* When all were taken, into the view: it has them from here on. */
bool axp__waits_keep(struct axp__wait_sums *sums, const struct axp__stream *s,
                     axp_view *v);
void axp__waits_fini(struct axp__wait_sums *sums);

#endif
