/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Critical sections; see openmp_lock.h. */
#include "openmp_lock.h"

#include <errno.h>

#define N_COUNTS 256u

/* Who wants or has one; several objects may share a count, and are then
 * measured although they need not be. */
static uint32_t counts[N_COUNTS];

static uint32_t *count_of(const void *object)
{
    uint64_t mixed = (uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);
    return &counts[mixed >> 56];
}

struct openmp_lock openmp_lock_want(const void *object)
{
    struct openmp_lock lock = {.object = object};
    lock.is_wait =
        __atomic_fetch_add(count_of(object), 1, __ATOMIC_ACQ_REL) != 0;
    if (lock.is_wait) lock.wait = common_wait_begin(AXP_SYNC_LOCK, object);
    return lock;
}

void openmp_lock_got(const struct openmp_lock *lock)
{
    if (lock->is_wait)
        common_wait_end(&lock->wait, "OpenMP critical", true);
    else
        common_sync_take(AXP_SYNC_LOCK, lock->object);
}

void openmp_lock_gave_up(struct openmp_lock *lock)
{
    __atomic_fetch_sub(count_of(lock->object), 1, __ATOMIC_ACQ_REL);
    if (lock->is_wait) common_wait_give_up(&lock->wait);
}

void openmp_lock_free(const void *object)
{
    common_sync_give(AXP_SYNC_LOCK, object, 1);
    __atomic_fetch_sub(count_of(object), 1, __ATOMIC_ACQ_REL);
}

void openmp_lock_freed(const void *object)
{
    common_sync_gave_lock(object);
    __atomic_fetch_sub(count_of(object), 1, __ATOMIC_ACQ_REL);
}
