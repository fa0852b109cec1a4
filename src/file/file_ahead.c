/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading ahead; see file_ahead.h. */
#include "file/file_ahead.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AHEAD ((size_t)16 << 10)
#define SMALL (AHEAD / 8) /* larger reads are worth a call of their own */

struct axp__read_ahead {
    bool is_taken;
    uint64_t at, next; /* where the bytes are from; where the last read ended */
    size_t n;
    uint8_t bytes[AHEAD];
};

struct axp__read_ahead *axp__read_ahead_create(void)
{
    return calloc(1, sizeof(struct axp__read_ahead));
}

void axp__read_ahead_destroy(struct axp__read_ahead *a)
{
    free(a);
}

static bool has(const struct axp__read_ahead *a, uint64_t at, size_t n)
{
    return at >= a->at && at - a->at <= a->n && n <= a->n - (at - a->at);
}

/* Only who reads on is read ahead for: who jumps about would pay for what he never
 * asks for. */
static void fill(struct axp__read_ahead *a, int fd, uint64_t at, uint64_t end)
{
    if (at < a->next || at - a->next >= AHEAD || at >= end) return;
    size_t n = end - at < AHEAD ? (size_t)(end - at) : AHEAD;
    ssize_t got = pread(fd, a->bytes, n, (off_t)at);
    a->at = at;
    a->n = got > 0 ? (size_t)got : 0;
}

bool axp__read_ahead_read(struct axp__read_ahead *a, int fd, uint64_t at,
                          uint64_t end, void *bytes, size_t n)
{
    if (!a || n > SMALL ||
        __atomic_exchange_n(&a->is_taken, true, __ATOMIC_ACQUIRE))
        return false;
    if (!has(a, at, n)) fill(a, fd, at, end);
    bool is_served = has(a, at, n);
    if (is_served) memcpy(bytes, a->bytes + (at - a->at), n);
    a->next = at + n;
    __atomic_store_n(&a->is_taken, false, __ATOMIC_RELEASE);
    return is_served;
}
