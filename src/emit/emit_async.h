/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Async spans that have begun and not ended: an ASYNC_END knows its beginning,
 * but one that never comes would leave no trace of it.
 *
 * Place      exports that draw a timeline, fed from a stream by time.
 * Memory     as much as is open at once, up to AXP__MOST_ASYNCS; those past
 *            it are shown only if they end.
 */
#ifndef AXP_EMIT_ASYNC_H
#define AXP_EMIT_ASYNC_H
#include "model/model_stream.h"

#define AXP__MOST_ASYNCS (1u << 20)

struct axp__async {
    axp_ns begin_ns;
    uint64_t id;
    uint32_t name, row; /* row: where it began */
    uint32_t process;   /* the caller's number for it */
    bool is_open;
};

struct axp__asyncs {
    struct axp__async *at; /* hash, a power of two; is_open: in use */
    size_t n, n_slots;
    bool has_failed; /* no memory */
};

void axp__asyncs_fini(struct axp__asyncs *a);
/* Remembers an ASYNC_BEGIN. True: one of that name and id was open and will
 * never end; it goes to *before. */
bool axp__asyncs_begin(struct axp__asyncs *a, const struct axp__record *r,
                       uint32_t process, struct axp__async *before);
/* Forgets it at its ASYNC_END; the row where it began, if that is known. */
uint32_t axp__asyncs_end(struct axp__asyncs *a, const struct axp__record *r,
                         uint32_t process);
/* Where one that never ended is shown to end: with its process, where there are
 * several, else at the last time there is. */
axp_ns axp__async_end_ns(const struct axp__async *a,
                         const struct axp__stream *s, axp_ns last_ns);
/* At the end: at[0 … n-1] are what is left, by begin, name and id. */
void axp__asyncs_sort(struct axp__asyncs *a);

#endif
