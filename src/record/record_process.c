/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding the process's one recorder; see record_process.h. */
#include "record/record_process.h"

#include <stddef.h>

#include "axprof/axprof.h"
#include "base/base_atomic.h"
#include "os/os_clock.h"
#include "os/os_map.h"
#include "record/record_thread.h"

uint8_t axp__recording = 1;

static struct axp__process own = {
    .layout = AXP__PROCESS_LAYOUT,
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .thread_get = axp__thread_get_own,
    .flags = {&axp__recording},
};
struct axp__process *axp__process_shared;

/* Weak: a fully static program has no loader to ask. */
extern void *dlsym(void *handle, const char *name) __attribute__((weak));

struct axp__process *axp__process_v1(void)
{
    return axp__process();
}

/* This copy's own, whichever one the name leads to. */
static struct axp__process *own_v1(void)
    __attribute__((alias("axp__process_v1")));

static struct axp__process *find_other(void)
{
    if (!dlsym) return NULL;
    void *found = dlsym(NULL, "axp__process_v1"); /* RTLD_DEFAULT */
    struct axp__process *(*fn)(void) = NULL;
    if (!found) return NULL;
    __builtin_memcpy(&fn, &found, sizeof fn);
    if (fn == own_v1) return NULL;
    struct axp__process *p = fn();
    return p && p->layout == AXP__PROCESS_LAYOUT ? p : NULL;
}

static void follow_flags(struct axp__process *p)
{
    for (int i = 0; i < AXP__MAX_COPIES; i++) {
        uint8_t *none = NULL;
        if (axp__get(&p->flags[i]) == &axp__recording) return;
        if (axp__cas(&p->flags[i], &none, &axp__recording)) {
            axp__put(&axp__recording, axp__get(p->flags[0]));
            return;
        }
    }
}

/* A second thread, or a handler, that comes here at the same time does the
 * same again and finds the same. */
struct axp__process *axp__process_join(void)
{
    struct axp__process *none = NULL, *other = find_other();
    struct axp__process *p = other ? other : &own;
    axp__clock_init();
    if (other) follow_flags(other);
    if (!axp__get(&p->alive)) {
        struct axp__alive *page =
            axp__map_wiped_on_fork(sizeof(struct axp__alive));
        if (page) page->is_alive = 1;
        if (page && !axp__cas(&p->alive, &(struct axp__alive *){NULL}, page))
            axp__unmap(page, sizeof *page);
    }
    if (!axp__cas(&axp__process_shared, &none, p)) p = none;
    return p;
}

void axp__process_set_flags(uint8_t value)
{
    struct axp__process *p = axp__process();
    for (int i = 0; i < AXP__MAX_COPIES; i++) {
        uint8_t *flag = axp__get(&p->flags[i]);
        if (flag) axp__put(flag, value);
    }
}

bool axp__process_was_forked(struct axp__process *p)
{
    uint32_t zero = 0;
    return p->alive && axp__cas(&p->alive->is_alive, &zero, 1);
}
