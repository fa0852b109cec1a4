/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Looking at threads from outside; see sampling_tasks.h. */
#include "sampling/sampling_tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base_text.h"
#include "os/os_clock.h"
#include "wire/wire_states.h"

#define LEAST_NS 20000000u
#define SHARE 100u
#define LIMIT 65536u

struct task {
    uint64_t start; /* as the kernel has it */
    struct axp__thread_states seen;
    struct task *next; /* of its slot */
};

struct axp__tasks {
    struct task *slot[1024];
    size_t n;
    uint64_t begin_ns, due_ns;
};

struct axp__tasks *axp__tasks_create(void)
{
    return calloc(1, sizeof(struct axp__tasks));
}

void axp__tasks_destroy(struct axp__tasks *t)
{
    if (!t) return;
    for (size_t i = 0; i < sizeof t->slot / sizeof *t->slot; i++)
        for (struct task *k = t->slot[i], *next; k; k = next) {
            next = k->next;
            free(k);
        }
    free(t);
}

/* ---- texts of the kernel ------------------------------------------------ */

static bool read_text(int folder, const char *tid, const char *name, char *to,
                      size_t cap)
{
    char path[64];
    snprintf(path, sizeof path, "%.20s/%s", tid, name);
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, to, cap - 1) : -1;
    if (fd >= 0) close(fd);
    to[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* The 22nd word, and the second, which is a name in brackets. */
static bool read_stat(int folder, const char *tid, struct task *to)
{
    char text[1024];
    if (!read_text(folder, tid, "stat", text, sizeof text)) return false;
    char *at = strrchr(text, ')'), *name = strchr(text, '(');
    if (!at || !name || name > at) return false;
    *at++ = 0;
    snprintf(to->seen.name, sizeof to->seen.name, "%.15s", name + 1);
    for (int i = 2; at && i < 22; i++) {
        at = strchr(at, ' ');
        if (at) at++;
    }
    if (!at) return false;
    to->start = strtoull(at, NULL, 10);
    return true;
}

static bool read_schedstat(int folder, const char *tid,
                           struct axp__thread_states *s)
{
    char text[128], *rest;
    if (!read_text(folder, tid, "schedstat", text, sizeof text)) return false;
    s->ran_ns = strtoull(text, &rest, 10);
    s->ready_ns = strtoull(rest, NULL, 10);
    return true;
}

/* The kernel counts from the boot, in hundredths of a second as a rule. */
static uint64_t raw_of(uint64_t start)
{
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t at = hz ? start * (1000000000u / hz) : 0;
    uint64_t since = axp__clock_of(CLOCK_BOOTTIME) - at;
    uint64_t now = axp__clock_of(CLOCK_MONOTONIC_RAW);
    return since < now ? now - since : 0;
}

/* ---- a look ------------------------------------------------------------- */

static struct task *find(const struct axp__tasks *t, uint64_t tid)
{
    struct task *k = t->slot[tid & 1023];
    while (k && k->seen.tid != tid)
        k = k->next;
    return k;
}

static struct task *add(struct axp__tasks *t, int folder, const char *name,
                        uint32_t pid)
{
    struct task new = {.seen.process = pid,
                       .seen.tid = strtoull(name, NULL, 10)};
    if (t->n == LIMIT || !read_stat(folder, name, &new)) return NULL;
    struct task *k = malloc(sizeof *k);
    if (!k) return NULL;
    new.seen.begin_ticks = raw_of(new.start);
    struct task **slot = &t->slot[new.seen.tid & 1023];
    new.next = *slot;
    *k = new;
    *slot = k;
    t->n++;
    return k;
}

/* What ran for less than it had before is another of that id. */
static void look_at(struct axp__tasks *t, int folder, const char *name,
                    uint32_t pid)
{
    struct axp__thread_states now = {0};
    struct task *k = find(t, strtoull(name, NULL, 10));
    if (!read_schedstat(folder, name, &now)) return;
    if (!k || k->seen.process != pid || now.ran_ns < k->seen.ran_ns)
        k = add(t, folder, name, pid);
    if (!k) return;
    k->seen.ran_ns = now.ran_ns;
    k->seen.ready_ns = now.ready_ns;
    k->seen.end_ticks = axp__clock_of(CLOCK_MONOTONIC_RAW);
}

bool axp__tasks_begin(struct axp__tasks *t)
{
    uint64_t now = axp__clock_of(CLOCK_MONOTONIC_RAW);
    if (now < t->due_ns) return false;
    t->begin_ns = now;
    return true;
}

bool axp__tasks_look(struct axp__tasks *t, uint32_t pid)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%lu/task", (unsigned long)pid);
    DIR *folder = opendir(path);
    for (const struct dirent *e; folder && (e = readdir(folder));)
        if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
            look_at(t, dirfd(folder), e->d_name, pid);
    if (folder) closedir(folder);
    return folder;
}

void axp__tasks_end(struct axp__tasks *t)
{
    uint64_t took = axp__clock_of(CLOCK_MONOTONIC_RAW) - t->begin_ns;
    uint64_t wait = took * SHARE > LEAST_NS ? took * SHARE : LEAST_NS;
    t->due_ns = t->begin_ns + wait;
}

struct axp__task_look axp__tasks_look_of(const struct axp__tasks *t,
                                         uint64_t pid, uint64_t tid)
{
    const struct task *k = find(t, tid);
    if (!k || k->seen.process != pid) return (struct axp__task_look){0};
    return (struct axp__task_look){k->seen.end_ticks, k->seen.ready_ns};
}

/* What was neither was waiting. */
void axp__tasks_give(struct axp__tasks *t,
                     void (*give)(void *ctx,
                                  const struct axp__thread_states *s),
                     void *ctx)
{
    for (size_t i = 0; i < sizeof t->slot / sizeof *t->slot; i++)
        for (struct task *k = t->slot[i]; k; k = k->next) {
            struct axp__thread_states *s = &k->seen;
            uint64_t life = s->end_ticks > s->begin_ticks
                                ? s->end_ticks - s->begin_ticks
                                : 0;
            uint64_t used = s->ran_ns + s->ready_ns;
            s->waited_ns = life > used ? life - used : 0;
            if (s->end_ticks < s->begin_ticks) s->end_ticks = s->begin_ticks;
            give(ctx, s);
        }
}
