/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A thread that looks at the output now and then. */
#include "cli/cli_progress.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <axprof/axprof.h>

static void show(const cli_progress *p, long seconds)
{
    struct stat st = {0};
    char size[32];
    fstat(p->fd, &st);
    axp_format_bytes(size, sizeof size, (uint64_t)st.st_size);
    dprintf(STDERR_FILENO, "\r\033[K%s: %ld s, %s written", p->what, seconds,
            size);
}

static void *watch(void *ctx)
{
    cli_progress *p = ctx;
    struct timespec due;
    clock_gettime(CLOCK_REALTIME, &due);
    pthread_mutex_lock(&p->mutex);
    for (long seconds = 1; !p->is_done; seconds++) {
        due.tv_sec++;
        while (!p->is_done &&
               pthread_cond_timedwait(&p->done, &p->mutex, &due) == 0)
            continue;
        if (p->is_done && seconds > 1) dprintf(STDERR_FILENO, "\r\033[K");
        if (!p->is_done) show(p, seconds);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

void cli_progress_begin(cli_progress *p, const char *what, FILE *to)
{
    *p = (cli_progress){.what = what, .fd = fileno(to)};
    if (!isatty(STDERR_FILENO) || p->fd < 0 || isatty(p->fd)) return;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->done, NULL);
    p->is_on = !pthread_create(&p->thread, NULL, watch, p);
}

void cli_progress_end(cli_progress *p)
{
    if (!p->is_on) return;
    pthread_mutex_lock(&p->mutex);
    p->is_done = true;
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->mutex);
    pthread_join(p->thread, NULL);
}
