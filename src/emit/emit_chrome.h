/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What emit_chrome.c (events) and emit_chrome_lines.c (the lines that they
 * are drawn on) share. */
#ifndef AXP_EMIT_CHROME_H
#define AXP_EMIT_CHROME_H
#include "emit/emit_async.h"
#include "emit/emit_name_cache.h"
#include "emit/emit_lanes.h"
#include "emit/emit_live.h"
#include "emit/emit_number.h"

#define AXP__CHROME_PLACE 64u

/* `"pid":1,"tid":2,"ts":` of a line. */
struct axp__chrome_place {
    char text[AXP__CHROME_PLACE];
    uint32_t len;
};

struct axp__chrome_row {
    struct axp__chrome_place place;
    struct axp__chrome_place *lanes; /* from lane 1 on */
    uint32_t n_lanes;
    struct axp__span_lanes spans;
    struct tie { /* the last scopes that have both times in common */
        axp_ns begin_ns, end_ns;
        size_t depth;
        uint64_t at; /* where the first of them was written */
    } tie;
};

struct axp__chrome {
    const axp_view *v;
    struct axp__out *o;
    struct axp__stream *s;
    struct axp__name_cache names; /* `"name":"x",` */
    struct axp__live live;
    struct axp__asyncs asyncs;
    struct axp__chrome_row *rows;
    struct axp__chrome_place *steps; /* by process; len 0: not yet */
    uint32_t next_tid;
    uint64_t next_id; /* of async pairs */
    axp_ns last_ns;
    bool has_failed;
    uint64_t n_waits; /* whose ends have arrows */
};

void axp__chrome_set_place(struct axp__chrome_place *p, uint64_t pid,
                           uint64_t tid);
/* Names and order of processes, threads and tracks. */
void axp__chrome_put_lines(struct axp__chrome *c);
/* The line of a lane of a row, or of a process's steps; named when it is the
 * first time. */
const struct axp__chrome_place *axp__chrome_lane_place(struct axp__chrome *c,
                                                       uint32_t i,
                                                       uint32_t lane);
const struct axp__chrome_place *axp__chrome_step_place(struct axp__chrome *c,
                                                       uint32_t row);

#endif
