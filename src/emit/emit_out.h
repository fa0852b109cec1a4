/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where emitters write: a buffer in front of a FILE.
 *
 * Numbers are formatted by hand, since printf is the slowest part of writing
 * a trace. Text may hold anything: what is not UTF-8 becomes U+FFFD here, for
 * every format, and each format escapes the rest on top of it.
 *
 * Place      everything in src/emit writes through this, nothing past it.
 * Failure    remembered: writing goes on into nothing, and flush tells.
 * Ownership  the caller's struct; init, then fini, which flushes.
 */
#ifndef AXP_EMIT_OUT_H
#define AXP_EMIT_OUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "axprof/axprof_read.h"

#define AXP__OUT_BYTES 65536u

struct axp__out {
    FILE *to;
    const char *path; /* of it, for messages; NULL: not known */
    size_t len;
    uint64_t n_bytes; /* that have left the buffer */
    int error;        /* errno of the first failure */
    char buffer[AXP__OUT_BYTES];
};

/* to NULL: nothing leaves the buffer, and more than it holds is a failure. */
void axp__out_init(struct axp__out *o, FILE *to);
void axp__out_flush(struct axp__out *o);
/* Flushes; AXP_E_IO, with the reason in axp_last_error and errno, if anything
 * failed. */
axp_status axp__out_fini(struct axp__out *o);

void axp__out_bytes(struct axp__out *o, const void *bytes, size_t len);

/* The length of a text, of which no more than `most` bytes are shown. */
static inline size_t axp__len_to(const char *text, size_t most)
{
    size_t len = strlen(text);
    return len < most ? len : most;
}

static inline void axp__out_text(struct axp__out *o, const char *text)
{
    axp__out_bytes(o, text, strlen(text));
}

static inline void axp__out_char(struct axp__out *o, char c)
{
    if (o->len == AXP__OUT_BYTES) axp__out_flush(o);
    o->buffer[o->len++] = c;
}

/* Where the next n bytes may be written, n at most AXP__OUT_BYTES; the caller
 * adds to `len` what he wrote. */
static inline char *axp__out_room(struct axp__out *o, size_t n)
{
    if (AXP__OUT_BYTES - o->len < n) axp__out_flush(o);
    return o->buffer + o->len;
}

void axp__out_u64(struct axp__out *o, uint64_t value);
void axp__out_i64(struct axp__out *o, int64_t value);
/* Nanoseconds as a decimal number of microseconds: 1234567 → 1234.567 */
void axp__out_us(struct axp__out *o, axp_ns ns);
/* The shortest text that reads back as the same double; NaN and the
 * infinities as `null`, since JSON has no other word for them. */
void axp__out_f64(struct axp__out *o, double value);
__attribute__((format(printf, 2, 3))) void axp__out_format(struct axp__out *o,
                                                           const char *format,
                                                           ...);

/* In quotes; also safe inside an HTML script: < is \u003c, U+2028 escaped. */
void axp__out_json(struct axp__out *o, const char *text);
void axp__out_json_n(struct axp__out *o, const char *text, size_t len);
/* Valid UTF-8, nothing else changed. */
void axp__out_utf8(struct axp__out *o, const char *text, size_t len);

/* The bytes of the character at the text's beginning, of which `left` are
 * there; 0: not UTF-8. */
size_t axp__utf8_len(const char *text, size_t left);

/* ---- whole files ------------------------------------------------------------------ */
typedef axp_status (*axp__emit_fn)(struct axp__out *o, void *ctx);
/* Writes to a temporary name beside path and renames when all is there; on
 * failure nothing is left. "-": standard output. */
axp_status axp__out_to_path(const char *path, axp__emit_fn fn, void *ctx);
/* The same to a FILE that is open. */
axp_status axp__out_to_file(FILE *to, axp__emit_fn fn, void *ctx);

#endif
