/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding the process's one recorder; see record_process.h. */
#include "record/record_process.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "axprof/axprof.h"
#include "base/base_atomic.h"
#include "os/os_clock.h"
#include "os/os_map.h"
#include "record/record_drain.h"
#include "record/record_heap.h"
#include "record/record_lane.h"
#include "record/record_name.h"
#include "record/record_tape.h"
#include "record/record_thread.h"
#include "record/record_track.h"

/* What copies share is as large as the layout of this number has it: whoever
 * changes one of these takes a new number and writes the new size down. What
 * changes without that, and without moving what is asked for below, nothing here
 * sees. */
_Static_assert(AXP__PROCESS_LAYOUT == 16, "these are the sizes of layout 16");
#define SIZE_IS(type, bytes)                                                   \
    _Static_assert(sizeof(struct type) == (bytes),                             \
                   "struct " #type                                             \
                   ": a new AXP__PROCESS_LAYOUT, and its size")
SIZE_IS(axp__process, 48984);
SIZE_IS(axp__prof, 11200);
SIZE_IS(axp__tape, 36928);
SIZE_IS(axp__thread, 41024);
SIZE_IS(axp__lane, 8960);
SIZE_IS(axp__tally, 416);
SIZE_IS(axp__frame, 64);
SIZE_IS(axp__node, 64);
SIZE_IS(axp__named, 32);
SIZE_IS(axp__name, 48);
SIZE_IS(axp__chunk, 16384);
SIZE_IS(axp_track, 56);
#undef SIZE_IS

#define IS_AT(type, field, bytes)                                              \
    _Static_assert(offsetof(struct type, field) == (bytes),                    \
                   #field ": a new AXP__PROCESS_LAYOUT, and its place")
IS_AT(axp__process, threads, 12360);
IS_AT(axp__process, global, 45176);
IS_AT(axp__process, window, 45872);
IS_AT(axp__process, n_devices, 48976);
IS_AT(axp__prof, lanes, 64);
IS_AT(axp__prof, over_ticks, 136);
IS_AT(axp__prof, merged, 1376);
IS_AT(axp__prof, heap, 10304);
IS_AT(axp__lane, tally, 56);
IS_AT(axp__lane, state, 508);
IS_AT(axp__lane, chunk, 752);
IS_AT(axp__lane, sink, 1224);
#undef IS_AT

uint8_t axp__recording = 1;

static struct axp__process own = {
    .layout = AXP__PROCESS_LAYOUT,
    .thread_get = axp__thread_get_own,
    .run_drain = axp__drain_run,
    .flags = {&axp__recording},
};
struct axp__process *axp__process_shared;

/* Weak: a fully static program has no loader to ask. */
/* NOLINTBEGIN(readability-*): declared again to be weak */
extern void *dlsym(void *handle, const char *name) __attribute__((weak));
extern void *dlopen(const char *path, int flags) __attribute__((weak));
extern int dladdr1(const void *address, Dl_info *info, void **extra, int flags)
    __attribute__((weak));
/* NOLINTEND(readability-*) */

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

/* The object that this lies in stays loaded, whatever dlclose says. (Where the
 * loader has no such call, dlclose never unloads.) */
static void stay_loaded(void)
{
    Dl_info here;
    struct link_map *map = NULL;
    void *found = NULL;
    if (!dlopen || !dladdr1 || !dladdr1(&own, &here, &found, RTLD_DL_LINKMAP))
        return;
    map = found;
    if (!map || !map->l_name || !*map->l_name) return; /* the program */
    (void)dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Where this copy owns the process's recorder: threads that recorded will call
 * it when they end, drains and other copies run in it. */
static __attribute__((constructor(101))) void start_copy(void)
{
    axp__thread_make_key();
    if (axp__process_is_own()) stay_loaded();
}

/* Where it does not, it leaves nothing behind that leads into it. */
static __attribute__((destructor(101))) void end_copy(void)
{
    struct axp__process *p = axp__process();
    if (axp__process_is_own()) return;
    for (int i = 0; i < AXP__MAX_COPIES; i++) {
        uint8_t *mine = &axp__recording;
        axp__cas(&p->flags[i], &mine, NULL);
    }
}

bool axp__process_is_own(void)
{
    return axp__process() == &own;
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
