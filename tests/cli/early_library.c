/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that begins a thread as soon as it is loaded, as OpenBLAS does.
 * Linked behind ours it is made ready before ours is. */
#include <pthread.h>
#include <stddef.h>

static void *work(void *argument)
{
    return argument;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    if (!pthread_create(&thread, NULL, work, NULL)) pthread_join(thread, NULL);
}
