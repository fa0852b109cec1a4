/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Starts a thread that starts a thread, and waits for both, while the loader
 * holds its lock. */
#include <pthread.h>
#include <stddef.h>

static void *inner(void *p)
{
    return p;
}

static void *outer(void *p)
{
    pthread_t thread;
    if (!pthread_create(&thread, NULL, inner, NULL)) pthread_join(thread, NULL);
    return p;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    if (!pthread_create(&thread, NULL, outer, NULL)) pthread_join(thread, NULL);
}
