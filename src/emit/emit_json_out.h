/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The one JSON writer: brackets, commas and members, on top of emit_out.h,
 * which has the texts and numbers.
 *
 *   axp__json_list(j, "dims");
 *   for (…) axp__json_next(j), axp__out_u64(j->o, …);
 *   axp__json_end(j, ']');
 *
 * Place  all that write JSON. The innermost loops of the timeline's exports
 *        put what every event has into the buffer themselves: member by member
 *        speedscope's take 1.9 times as long and JSON's 1.4, or 1.4 and 1.1
 *        with all this in line, which is 100 KB (axp_bench_emit, aarch64).
 * Keys   are ours, and written as they are; values may be anything.
 */
#ifndef AXP_EMIT_JSON_OUT_H
#define AXP_EMIT_JSON_OUT_H
#include "emit/emit_out.h"

struct axp__json {
    struct axp__out *o;
    bool has_member; /* of what is open now: a comma comes first */
    bool is_airy;    /* with a space after commas and colons */
};

void axp__json_begin(struct axp__json *j, char bracket);
void axp__json_end(struct axp__json *j, char bracket);
/* Another element of a list; the caller writes it. */
void axp__json_next(struct axp__json *j);
/* What comes next stands on a line of its own. */
void axp__json_line(struct axp__json *j, const char *indent);
/* A member's name; the caller writes the value, or opens it. */
void axp__json_key(struct axp__json *j, const char *name);
void axp__json_object(struct axp__json *j, const char *name);
void axp__json_list(struct axp__json *j, const char *name);
void axp__json_u64(struct axp__json *j, const char *name, uint64_t value);
void axp__json_i64(struct axp__json *j, const char *name, int64_t value);
void axp__json_f64(struct axp__json *j, const char *name, double value);
/* null where it is not known */
void axp__json_known(struct axp__json *j, const char *name, bool is_known,
                     double value);
/* NULL: null */
void axp__json_text(struct axp__json *j, const char *name, const char *text);
void axp__json_bool(struct axp__json *j, const char *name, bool value);

/* A record of a list, on a line of its own; and the list's end. */
static inline void axp__json_item(struct axp__json *j)
{
    axp__json_line(j, "    ");
    axp__json_begin(j, '{');
}

static inline void axp__json_items_end(struct axp__json *j)
{
    if (j->has_member) axp__out_text(j->o, "\n  ");
    axp__json_end(j, ']');
}

#endif
