/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Records of perf_event_open, from bytes; see sampling_record.h. */
#include "sampling/sampling_record.h"

#include <string.h>
#include <sys/mman.h>

#include "sampling/sampling_regs.h"

static uint64_t word(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t half(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* A sample has its time in its body, all others at their end, where the fields
 * of sample_type are that are not a sample's own: pid, tid, time. */
bool axp__perf_read_time(const struct perf_event_header *h,
                         struct axp__perf_record *out)
{
    const uint8_t *body = (const uint8_t *)(h + 1);
    bool is_sample = h->type == PERF_RECORD_SAMPLE;
    if (h->size < sizeof *h + (is_sample ? 24 : 16)) return false;
    const uint8_t *id =
        is_sample ? body + 8 : (const uint8_t *)h + h->size - 16;
    out->type = h->type;
    out->pid = half(id);
    out->tid = half(id + 4);
    out->time_ns = word(id + 8);
    return true;
}

/* Bytes of a record that have not been looked at. */
struct rest {
    const uint8_t *at, *end;
    bool is_short;
};

static uint64_t take(struct rest *r)
{
    if (r->end - r->at < 8) {
        r->is_short = true;
        return 0;
    }
    uint64_t value = word(r->at);
    r->at += 8;
    return value;
}

/* The kernel's part of it, which there is none of, and the program's have a mark
 * before them. */
static bool read_chain(struct rest *r, struct axp__perf_sample *s)
{
    uint64_t n = take(r);
    if (r->is_short || n > (uint64_t)(r->end - r->at) / 8) return false;
    if (n && word(r->at) == (uint64_t)PERF_CONTEXT_USER) {
        s->chain = (const uint64_t *)(const void *)(r->at + 8);
        s->n_chain = n - 1;
    }
    r->at += 8 * n;
    return true;
}

static bool read_stack(struct rest *r, struct axp__perf_sample *s)
{
    uint64_t n = take(r);
    if (r->is_short || n > (uint64_t)(r->end - r->at)) return false;
    if (!n) return true;
    s->stack = r->at;
    r->at += n;
    s->n_stack = take(r);
    return !r->is_short && s->n_stack <= n;
}

static bool read_sample(const struct perf_event_header *h,
                        struct axp__perf_record *out)
{
    struct axp__perf_sample *s = &out->sample;
    struct rest r = {(const uint8_t *)(h + 1), (const uint8_t *)h + h->size,
                     false};
    *s = (struct axp__perf_sample){.ip = take(&r)};
    r.at += 16; /* pid, tid, time: axp__perf_read_time has seen them */
    s->weight_ns = take(&r);
    s->is_leaving = s->weight_ns < AXP__CLOCK_LEAST;
    s->is_kernel =
        (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    if (AXP__HAS_CHAIN && !read_chain(&r, s)) return false;
    uint64_t abi = take(&r);
    if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
        if (abi == PERF_SAMPLE_REGS_ABI_64) /* no unwinding of 32 bits */
            s->regs = (const uint64_t *)(const void *)r.at;
        if ((size_t)(r.end - r.at) < 8 * AXP__REGS_N) return false;
        r.at += 8 * AXP__REGS_N;
    }
    return !r.is_short && read_stack(&r, s);
}

/* A name that ends within the record. */
static const char *read_text(const struct perf_event_header *h,
                             const uint8_t *from)
{
    const uint8_t *end = (const uint8_t *)h + h->size - 16;
    return from < end && memchr(from, 0, (size_t)(end - from))
               ? (const char *)from
               : NULL;
}

static bool read_mapping(const struct perf_event_header *h,
                         struct axp__perf_record *out)
{
    const uint8_t *b = (const uint8_t *)(h + 1);
    if (h->size < sizeof *h + 64 + 16) return false;
    out->mapping = (struct axp__perf_mapping){
        .address = word(b + 8),
        .bytes = word(b + 16),
        .offset = word(b + 24),
        .device = (uint64_t)half(b + 32) << 32 | half(b + 36),
        .inode = word(b + 40),
        .generation = word(b + 48),
        .is_code = half(b + 56) & PROT_EXEC,
        .path = read_text(h, b + 64)};
    return out->mapping.path;
}

bool axp__perf_read(const struct perf_event_header *h,
                    struct axp__perf_record *out)
{
    const uint8_t *b = (const uint8_t *)(h + 1);
    switch (h->type) {
    case PERF_RECORD_SAMPLE: return read_sample(h, out);
    case PERF_RECORD_MMAP2: return read_mapping(h, out);
    case PERF_RECORD_COMM:
        if (h->size < sizeof *h + 8 + 16) return false;
        out->pid = half(b); /* another thread may have given it its name */
        out->tid = half(b + 4);
        out->comm.name = read_text(h, b + 8);
        out->comm.is_exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
        return out->comm.name;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        if (h->size < sizeof *h + 24 + 16) return false;
        out->pid = half(b);
        out->fork.parent = half(b + 4);
        out->tid = half(b + 8);
        out->fork.by = half(b + 12);
        return true;
    case PERF_RECORD_SWITCH:
        out->turn.is_out = h->misc & PERF_RECORD_MISC_SWITCH_OUT;
        out->turn.is_preempted = h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
        return true;
    case PERF_RECORD_LOST:
        if (h->size < sizeof *h + 16 + 16) return false;
        out->lost.count = word(b + 8);
        return true;
    default: return false;
    }
}
