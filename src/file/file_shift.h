/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One capture seen in the frame of another: its ticks, names and rows as those
 * of the joined one (file_join.h). Accumulators are rewritten once, words when
 * they are loaded.
 *
 * Input    words are untrusted: what cannot be ends its chunk.
 */
#ifndef AXP_FILE_SHIFT_H
#define AXP_FILE_SHIFT_H
#include "base/base_number.h"
#include "tally/tally_capture.h"

struct axp__shift {
    struct axp__cap_source source;
    struct axp__capture *part; /* released with the source */
    uint32_t *name;            /* by the part's id; the last: any other */
    uint32_t n_names;
    uint8_t device[AXP__DEVICES]; /* by the part's number; 0: not met yet */
    uint32_t first_row;           /* added to ids of rows */
    uint32_t first_stack[2];      /* likewise, by table */
    /* ticks of the part t ↦ to_ticks + (t - from_ticks) * ratio */
    uint64_t from_ticks, to_ticks;
    double ratio;
    uint64_t shift_ns; /* added to the times of tracks */
    uint32_t host;     /* its number */
};

static inline uint64_t axp__shift_ticks(const struct axp__shift *s,
                                        uint64_t ticks)
{
    uint64_t since = ticks - s->from_ticks;
    if (s->ratio == 1) return s->to_ticks + since;
    if (since <= INT64_MAX)
        return s->to_ticks + axp__whole((double)since * s->ratio);
    return s->to_ticks - axp__whole((double)(0 - since) * s->ratio);
}

/* Of durations; a rate that is off by less than a thousandth changes times of
 * day, and no duration that anyone looks at. */
static inline double axp__shift_scale(const struct axp__shift *s)
{
    return s->ratio > 0.999 && s->ratio < 1.001 ? 1 : s->ratio;
}

/* The largest: there is none yet. */
static inline uint64_t axp__shift_duration(const struct axp__shift *s,
                                           uint64_t ticks)
{
    double scale = axp__shift_scale(s);
    return scale == 1 || ticks == UINT64_MAX
               ? ticks
               : axp__whole((double)ticks * scale);
}

static inline uint32_t axp__shift_name(const struct axp__shift *s,
                                       uint32_t name)
{
    return s->name[name < s->n_names ? name : s->n_names];
}

/* Those that are no stack stay, and so do those that the part has not. */
static inline uint32_t axp__shift_stack(const struct axp__shift *s, uint32_t id)
{
    unsigned table = id >= AXP__STACKS_OUTSIDE;
    bool is_one = table || id >= AXP__STACK_FIRST;
    bool is_its = (id & ~AXP__STACKS_OUTSIDE) < s->part->stacks[table].n;
    if (!is_one) return id;
    return is_its ? id + s->first_stack[table] : AXP__STACK_NONE;
}

/* The chunks of the part, as to's. False: no memory. */
bool axp__shift_chunks(struct axp__shift *s, struct axp__cap_chunk *to);
/* Its samples, as to's, of processes of a host. */
void axp__shift_samples(struct axp__shift *s, uint32_t host,
                        struct axp__cap_samples *to);
/* A row, an allocation name, a heap, in place; a lane and what is in it, of the part,
 * copied into c. */
void axp__shift_row(const struct axp__shift *s, struct axp__cap_row *r);
void axp__shift_live(const struct axp__shift *s, struct axp__cap_live *r);
void axp__shift_heap(const struct axp__shift *s, struct axp__cap_heap *r);
void axp__shift_note(const struct axp__shift *s, struct axp__cap_note *r);
void axp__shift_level(const struct axp__shift *s, struct axp__cap_level *r);
bool axp__shift_lane(const struct axp__shift *s, struct axp__capture *c,
                     const struct axp__cap_lane *from,
                     struct axp__cap_lane *to);

#endif
