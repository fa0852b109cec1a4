/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Held, waited for, given back; see os_mutex.h. */
#include "os/os_mutex.h"

#include "base/base_atomic.h"
#include "os/os_thread.h"

enum { FREE, HELD, WAITED_FOR };

/* The bytes may have been copied to other pages before we said that we wait. */
#define AGAIN_NS 10000000

/* Pairs with the release of who gave it back, as the exchange below does. */
bool axp__mutex_try(struct axp__mutex *m)
{
    uint32_t is_free = FREE;
    return __atomic_compare_exchange_n(&m->state, &is_free, HELD, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Who had to wait does not know whether others still do, and says so. */
void axp__mutex_lock(struct axp__mutex *m)
{
    if (axp__mutex_try(m)) return;
    while (__atomic_exchange_n(&m->state, WAITED_FOR, __ATOMIC_ACQUIRE))
        axp__futex_wait(&m->state, WAITED_FOR, AGAIN_NS);
}

void axp__mutex_unlock(struct axp__mutex *m)
{
    if (__atomic_exchange_n(&m->state, FREE, __ATOMIC_RELEASE) == WAITED_FOR)
        axp__futex_wake(&m->state);
}
