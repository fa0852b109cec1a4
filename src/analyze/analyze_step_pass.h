/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One pass over the timeline of a process that marks steps: own times of
 * operations, as they pass, and where steps end.
 *
 * Place   below analyze_steps.c, which makes two of them.
 * Input   untrusted: times are kept rising in each row.
 */
#ifndef AXP_ANALYZE_STEP_PASS_H
#define AXP_ANALYZE_STEP_PASS_H
#include "analyze/analyze_steps.h"
#include "model/model_stream.h"

struct axp__step_pass {
    const axp_view *v;
    struct axp__graph_ops *ops; /* numbers are made as operations come */
    uint32_t process;           /* whose rows count; UINT32_MAX: all */
    void *ctx;
    /* False stops: no memory. The first two may be NULL. Before a step ends, every row's
     * time until then has been told. */
    bool (*on_time)(void *ctx, uint32_t row, uint32_t op, axp_ns from,
                    axp_ns to);
    bool (*on_begin)(void *ctx, uint32_t process, axp_ns at, uint32_t op);
    bool (*on_step)(void *ctx, uint32_t process, const struct axp__record *r);
};
bool axp__step_pass_run(struct axp__step_pass *pass);

/* The first pass: fills the steps of a look, and puts the first one's beginning
 * where what comes again begins. False: no memory. */
bool axp__steps_find(struct axp__step_look *look);

#endif
