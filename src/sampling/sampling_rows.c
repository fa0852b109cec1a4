/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Samples into a recording; see sampling_rows.h. */
#include "sampling/sampling_rows.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tally/tally_stacks.h"
#include "wire/wire_column.h"
#include "wire/wire_samples.h"
#include "wire/wire_stack.h"

#define STACKS_LIMIT ((uint64_t)1 << 30) /* a quarter is for stacks */

struct waiting {
    uint64_t pid, tid, ticks, weight;
    uint32_t stack, kind;
};

struct column {
    uint8_t *bytes;
    size_t n;
};

struct axp__sampler {
    struct axp__budget budget;
    struct axp__stacks stacks;
    uint32_t n_written; /* stacks whose ids are below this are in the trace */
    size_t n;
    struct waiting waiting[AXP__SAMPLES_A_BLOCK];
    uint8_t columns[AXP__SAMPLES_A_BLOCK * (6 * AXP__VARINT_MAX + 4)];
};

struct axp__sampler *axp__sampler_create(void)
{
    struct axp__sampler *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->budget.limit_bytes = STACKS_LIMIT;
    s->n_written = AXP__STACK_FIRST;
    return s;
}

void axp__sampler_destroy(struct axp__sampler *s)
{
    if (!s) return;
    axp__stacks_clear(&s->stacks, &s->budget);
    free(s);
}

size_t axp__sampler_waiting(const struct axp__sampler *s)
{
    return s->n;
}

/* ---- stacks --------------------------------------------------------------------- */

/* The table gives ids from AXP__STACK_FIRST on. */
static uint32_t to_outside(uint32_t id)
{
    return AXP__STACKS_OUTSIDE + (id - AXP__STACK_FIRST);
}

static uint32_t intern(struct axp__sampler *s, const struct axp__sample *from)
{
    uint8_t bytes[AXP__STACK_BYTES(AXP__STACK_MOST)];
    size_t most = AXP__STACK_MOST;
    size_t n = from->n_frames < most ? from->n_frames : most;
    if (!n) return AXP__STACK_NONE;
    size_t len = axp__stack_put(bytes, from->frames, n);
    uint32_t id =
        axp__stacks_intern(&s->stacks, &s->budget, bytes, (uint32_t)len);
    return id == AXP__STACK_NO_ROOM ? id : to_outside(id);
}

static bool write_stacks(struct axp__sampler *s, struct axp__pen *pen)
{
    static const uint8_t none[] = {0};
    uint32_t id = s->n_written, end = axp__stacks_end(&s->stacks);
    axp__pen_gather(pen, AXP__B_STACKS, to_outside(id));
    for (; id < end; id++) {
        const struct axp__stack_bytes *b = axp__stacks_at(&s->stacks, id);
        if (!axp__pen_records(pen, 1, b ? b->bytes : none, b ? b->n : 1))
            return false;
    }
    if (!axp__pen_flush(pen)) return false;
    s->n_written = end;
    return true;
}

/* ---- columns ---------------------------------------------------------------------- */

static int by_thread_and_time(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;
    if (x->pid != y->pid) return x->pid > y->pid ? 1 : -1;
    if (x->tid != y->tid) return x->tid > y->tid ? 1 : -1;
    if (x->ticks != y->ticks) return x->ticks > y->ticks ? 1 : -1;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

static bool is_same_thread(const struct waiting *a, const struct waiting *b)
{
    return a->pid == b->pid && a->tid == b->tid;
}

static uint64_t least_ticks(const struct axp__sampler *s)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < s->n; i++)
        if (s->waiting[i].ticks < least) least = s->waiting[i].ticks;
    return least;
}

static size_t put_threads(const struct axp__sampler *s, uint8_t *at)
{
    uint8_t *from = at;
    for (size_t i = 0, k; i < s->n; i = k) {
        for (k = i; k < s->n && is_same_thread(&s->waiting[k], &s->waiting[i]);)
            k++;
        at = axp__put_varint(at, s->waiting[i].pid);
        at = axp__put_varint(at, s->waiting[i].tid);
        at = axp__put_varint(at, k - i);
    }
    return (size_t)(at - from);
}

static size_t put_times(const struct axp__sampler *s, uint64_t base,
                        uint8_t *at)
{
    uint8_t *from = at;
    for (size_t i = 0; i < s->n; i++) {
        bool is_first =
            !i || !is_same_thread(&s->waiting[i - 1], &s->waiting[i]);
        uint64_t before = is_first ? base : s->waiting[i - 1].ticks;
        at = axp__put_varint(at, s->waiting[i].ticks - before);
    }
    return (size_t)(at - from);
}

static size_t put_stacks(const struct axp__sampler *s, uint8_t *at)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < 4; k++)
            at[k * s->n + i] = (uint8_t)(s->waiting[i].stack >> 8 * k);
    return 4 * s->n;
}

static size_t put_counts(const struct axp__sampler *s, bool is_kind,
                         uint8_t *at)
{
    uint8_t *from = at;
    for (size_t i = 0; i < s->n; i++)
        at = axp__put_varint(at, is_kind ? s->waiting[i].kind
                                         : s->waiting[i].weight);
    return (size_t)(at - from);
}

/* All columns, one behind the other in s->columns. */
static void make_columns(struct axp__sampler *s, uint64_t base,
                         struct column c[AXP__SAMPLE_COLUMNS])
{
    uint8_t *at = s->columns;
    for (unsigned i = 0; i < AXP__SAMPLE_COLUMNS; i++) {
        size_t n = 0;
        switch (i) {
        case AXP__SAMPLE_THREADS: n = put_threads(s, at); break;
        case AXP__SAMPLE_TIMES: n = put_times(s, base, at); break;
        case AXP__SAMPLE_STACKS: n = put_stacks(s, at); break;
        case AXP__SAMPLE_KINDS: n = put_counts(s, true, at); break;
        default: n = put_counts(s, false, at);
        }
        c[i] = (struct column){at, n};
        at += n;
    }
}

/* The body; 0: it does not fit. */
static size_t put_columns(const struct column c[AXP__SAMPLE_COLUMNS],
                          bool is_plain, uint8_t *out, size_t cap)
{
    uint8_t lengths[AXP__SAMPLE_COLUMNS * 2 * AXP__VARINT_MAX], *end = lengths;
    size_t at = sizeof lengths;
    for (unsigned i = 0; i < AXP__SAMPLE_COLUMNS; i++) {
        size_t len = 0, n = c[i].n;
        if (at + n > cap) return 0;
        if (n >= AXP__LEAST_COLUMN && !is_plain)
            len = ZSTD_compress(out + at, cap - at, c[i].bytes, n,
                                AXP__ZSTD_LEVEL);
        if (ZSTD_isError(len) || !axp__column_pays(len, n)) len = 0;
        if (!len) memcpy(out + at, c[i].bytes, n);
        end = axp__put_varint(axp__put_varint(end, n), len);
        at += len ? len : n;
    }
    size_t n_lengths = (size_t)(end - lengths);
    memmove(out + n_lengths, out + sizeof lengths, at - sizeof lengths);
    memcpy(out, lengths, n_lengths);
    return at - sizeof lengths + n_lengths;
}

bool axp__sampler_flush(struct axp__sampler *s, struct axp__pen *pen)
{
    struct column columns[AXP__SAMPLE_COLUMNS];
    if (!s->n) return true;
    if (!write_stacks(s, pen)) return false;
    qsort(s->waiting, s->n, sizeof *s->waiting, by_thread_and_time);
    struct axp__block b = {.kind = AXP__B_SAMPLES,
                           .n = (uint32_t)s->n,
                           .base_ticks = least_ticks(s)};
    make_columns(s, b.base_ticks, columns);
    size_t bytes = put_columns(columns, false, pen->body, AXP__PEN_BODY);
    if (bytes && s->n > bytes * AXP__SAMPLES_A_BYTE)
        bytes = put_columns(columns, true, pen->body, AXP__PEN_BODY);
    s->n = 0;
    return bytes && axp__pen_block(pen, &b, pen->body, bytes);
}

bool axp__sampler_put(struct axp__sampler *s, struct axp__pen *pen,
                      const struct axp__sample *sample)
{
    if (s->n == AXP__SAMPLES_A_BLOCK && !axp__sampler_flush(s, pen))
        return false;
    s->waiting[s->n++] = (struct waiting){.pid = sample->pid,
                                          .tid = sample->tid,
                                          .ticks = sample->ticks,
                                          .weight = sample->weight,
                                          .stack = intern(s, sample),
                                          .kind = sample->kind};
    return true;
}
