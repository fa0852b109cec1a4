/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A thread that allocates nothing has no arena of malloc's, whoever looks on. */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool is_begun, is_over;

static void *stand_by(void *unused)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    __atomic_store_n(&is_begun, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
        nanosleep(&moment, NULL);
    return unused;
}

static int count_arenas(void)
{
    char *text = NULL;
    size_t size;
    int n = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to || malloc_info(0, to) || fclose(to)) return -1;
    for (const char *at = text; (at = strstr(at, "<heap nr=")); at++)
        n++;
    free(text);
    return n;
}

int main(void)
{
    enum { N = 3 };
    pthread_t threads[N];
    int before = count_arenas();
    for (int i = 0; i < N; i++) {
        __atomic_store_n(&is_begun, false, __ATOMIC_RELEASE);
        if (pthread_create(&threads[i], NULL, stand_by, NULL)) return 2;
        while (!__atomic_load_n(&is_begun, __ATOMIC_ACQUIRE))
            continue;
    }
    int after = count_arenas();
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    printf("%d arenas, and %d beside %d threads\n", before, after, N);
    return before < 0 || before != after;
}
