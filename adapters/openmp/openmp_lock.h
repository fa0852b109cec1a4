/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Critical sections and locks of OpenMP, which cannot be tried: how many want or
 * have one is counted, and who is alone does not wait. */
#ifndef OPENMP_LOCK_H
#define OPENMP_LOCK_H
#include <stdbool.h>

#include "adapters/common/common_sync.h"

struct openmp_lock {
    const void *object;
    struct common_wait wait;
    bool is_wait; /* somebody else had it */
};

struct openmp_lock openmp_lock_want(const void *object);
void openmp_lock_got(const struct openmp_lock *lock);
void openmp_lock_gave_up(struct openmp_lock *lock);
void openmp_lock_free(const void *object);  /* before that is done */
void openmp_lock_freed(const void *object); /* after that */

#endif
