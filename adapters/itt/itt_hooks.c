/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ITT: a program's copy of the interface loads the library that
 * INTEL_LIBITTNOTIFY64 names when it first marks something, and asks it to fill
 * its list of functions. Several modules may each have a copy.
 *
 * Declared here is what of the interface is used; layouts are its own. Domains
 * and strings that were made before the library came carry their names, so they
 * need nothing of ours.
 *
 * Not here   pause, resume and detach: what is recorded is axprof run's choice.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <axprof/axprof.h>

#include "adapters/common/common_own.h"
#include "adapters/common/common_ranges.h"

#define EXPORTED __attribute__((visibility("default")))
#define MOST_BY_ID 256u
#define SPINS 100000

typedef void any_function(void);
struct function { /* one of the list, which ends without a name */
    const char *name;
    any_function **at;
    void *first, *none;
    int group;
};
struct program { /* a copy's own state */
    unsigned char magic[8];
    unsigned long version[3];
    volatile long state[3];
    pthread_mutex_t mutex;
    void *library, *on_error;
    const char **path;
    struct function *functions;
};
struct domain {
    volatile int flags; /* 0: it is off */
    const char *name;
    void *wide;
    int extra1;
    void *extra2;
    struct domain *next;
};
struct string {
    const char *text;
    void *wide;
    int extra1;
    void *extra2;
    struct string *next;
};
struct id {
    unsigned long long part[3];
};
struct counter {
    const char *name;
    int type;
    double value;
};

static struct common_range range_of(const struct domain *domain,
                                    const struct string *name)
{
    return (struct common_range){.name = name && name->text ? name->text : "",
                                 .domain = domain ? domain->name : NULL};
}

/* ---- tasks -------------------------------------------------------------- */

/* The adapter of oneDNN's, where it is loaded: whether this thread is in a
 * primitive that it tells of, with more than oneDNN's own task does. */
extern bool axprof_dnnl_is_inside(void) __attribute__((weak));

static bool is_told(const struct domain *domain)
{
    static const char its[] = "dnnl::primitive";
    return axprof_dnnl_is_inside && axprof_dnnl_is_inside() && domain &&
           domain->name && !strncmp(domain->name, its, sizeof its - 1);
}

static void task_begin(const struct domain *domain, struct id task,
                       struct id parent, const struct string *name)
{
    int error = errno;
    struct common_range r = range_of(domain, name);
    (void)task, (void)parent;
    if (!is_told(domain)) common_range_push(&r);
    errno = error;
}

static void task_begin_fn(const struct domain *domain, struct id task,
                          struct id parent, const void *function)
{
    (void)function;
    task_begin(domain, task, parent, &(struct string){.text = "task"});
}

static void task_end(const struct domain *domain)
{
    int error = errno;
    if (!is_told(domain)) common_range_pop(domain ? domain->name : NULL);
    errno = error;
}

/* ---- what is known by an id: overlapped tasks, regions, frames ----------- */

static struct {
    struct id id;
    const void *domain;
    uint64_t range; /* 0: free */
} by_id[MOST_BY_ID];
static int is_locked;

/* A handler may have interrupted the holder: then it is done without. */
static bool lock(void)
{
    for (int i = 0; i < SPINS; i++)
        if (!__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE)) return true;
    return false;
}

static void unlock(void)
{
    __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE);
}

/* Who held it is not in the child. */
__attribute__((constructor)) static void see_forks(void)
{
    (void)pthread_atfork(NULL, NULL, unlock);
}

static void begin_by_id(const struct domain *domain, const struct id *id,
                        const struct string *name)
{
    int error = errno;
    struct common_range r = range_of(domain, name);
    uint64_t range = common_range_start(&r);
    bool is_ours = lock();
    for (size_t i = 0; is_ours && range && i < MOST_BY_ID; i++) {
        if (by_id[i].range) continue;
        by_id[i].id = *id;
        by_id[i].domain = domain;
        by_id[i].range = range;
        range = 0;
    }
    if (is_ours) unlock();
    if (range) common_range_end(range); /* nobody could end it */
    errno = error;
}

static void end_by_id(const struct domain *domain, const struct id *id)
{
    int error = errno;
    uint64_t range = 0;
    bool is_ours = lock();
    for (size_t i = MOST_BY_ID; is_ours && !range && i-- > 0;) {
        if (!by_id[i].range || by_id[i].domain != domain ||
            memcmp(&by_id[i].id, id, sizeof *id) != 0)
            continue;
        range = by_id[i].range;
        by_id[i].range = 0;
    }
    if (is_ours) unlock();
    if (range) common_range_end(range);
    errno = error;
}

static void overlapped_begin(const struct domain *domain, struct id task,
                             struct id parent, const struct string *name)
{
    (void)parent;
    begin_by_id(domain, &task, name);
}

static void overlapped_end(const struct domain *domain, struct id task)
{
    end_by_id(domain, &task);
}

static void frame_begin(const struct domain *domain, const struct id *id)
{
    static const struct id none;
    begin_by_id(domain, id ? id : &none, &(struct string){.text = "frame"});
}

static void frame_end(const struct domain *domain, const struct id *id)
{
    static const struct id none;
    end_by_id(domain, id ? id : &none);
}

static void marker(const struct domain *domain, struct id id,
                   const struct string *name, int scope)
{
    int error = errno;
    struct common_range r = range_of(domain, name);
    (void)id, (void)scope;
    common_range_mark(&r);
    errno = error;
}

/* ---- names and counters ------------------------------------------------- */

static void thread_set_name(const char *name)
{
    int error = errno;
    if (name) axp_thread_name(axp_global(), name);
    errno = error;
}

/* Whoever has one may use it for ever, so none is freed; equal names are one, as
 * long as there is room to remember them. */
#define MOST_KNOWN 1024u
static struct domain *domains[MOST_KNOWN];
static struct string *strings[MOST_KNOWN];

static size_t place_of(const char *name)
{
    return (uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15) >> 54;
}

static struct domain *domain_create(const char *text)
{
    static struct domain off = {.name = ""}; /* as the program would have it */
    const char *name = axp_name(text, text ? strlen(text) : 0);
    struct domain **at = &domains[place_of(name)], *d, *none = NULL;
    d = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    if (d && d->name == name) return d;
    if (common_ranges_are_quiet()) return &off;
    d = common_own_take(sizeof *d);
    if (!d) return NULL;
    d->flags = 1;
    d->name = name;
    (void)__atomic_compare_exchange_n(at, &none, d, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED);
    return d;
}

static struct string *string_create(const char *text)
{
    static struct string unknown = {.text = ""};
    const char *name = axp_name(text, text ? strlen(text) : 0);
    struct string **at = &strings[place_of(name)], *s, *none = NULL;
    s = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    if (s && s->text == name) return s;
    if (common_ranges_are_quiet()) return &unknown;
    s = common_own_take(sizeof *s);
    if (!s) return NULL;
    s->text = name;
    (void)__atomic_compare_exchange_n(at, &none, s, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED);
    return s;
}

static struct counter *counter_create_typed(const char *name,
                                            const char *domain, int type)
{
    static struct counter unknown = {.name = "", .type = 1};
    if (common_ranges_are_quiet()) return &unknown;
    struct counter *c = common_own_take(sizeof *c);
    if (!c) return NULL;
    (void)domain;
    c->name = axp_name(name, name ? strlen(name) : 0);
    c->type = type;
    return c;
}

static struct counter *counter_create(const char *name, const char *domain)
{
    return counter_create_typed(name, domain, 1);
}

static double value_of(int type, const void *at)
{
    union {
        uint64_t u64;
        int64_t i64;
        uint32_t u32;
        int32_t i32;
        uint16_t u16;
        int16_t i16;
        float f32;
        double f64;
    } v = {0};
    static const uint8_t bytes[] = {8, 8, 8, 4, 4, 2, 2, 4, 8};
    if (type < 0 || type > 8) type = 1;
    memcpy(&v, at, bytes[type]);
    switch (type) {
    case 2: return (double)v.i64;
    case 3: return v.u32;
    case 4: return v.i32;
    case 5: return v.u16;
    case 6: return v.i16;
    case 7: return (double)v.f32;
    case 8: return v.f64;
    default: return (double)v.u64;
    }
}

static void counter_set_value(struct counter *c, const void *value)
{
    int error = errno;
    if (c && value) {
        double now = value_of(c->type, value);
        __atomic_store(&c->value, &now, __ATOMIC_RELAXED);
        axp_counter(axp_global(), c->name, now);
    }
    errno = error;
}

/* Threads share counters. */
static double add(double *value, double delta)
{
    double was, now;
    __atomic_load(value, &was, __ATOMIC_RELAXED);
    do
        now = was + delta;
    while (!__atomic_compare_exchange(value, &was, &now, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED));
    return now;
}

static void counter_inc_delta(struct counter *c, unsigned long long delta)
{
    int error = errno;
    if (c) axp_counter(axp_global(), c->name, add(&c->value, (double)delta));
    errno = error;
}

static void counter_inc(struct counter *c)
{
    counter_inc_delta(c, 1);
}

/* ---- the beginning ------------------------------------------------------ */

#define AS_ANY(f) ((any_function *)(f))

static const struct {
    const char *name;
    any_function *function;
} ours[] = {
    {"__itt_task_begin", AS_ANY(task_begin)},
    {"__itt_task_begin_fn", AS_ANY(task_begin_fn)},
    {"__itt_task_end", AS_ANY(task_end)},
    {"__itt_task_begin_overlapped", AS_ANY(overlapped_begin)},
    {"__itt_task_end_overlapped", AS_ANY(overlapped_end)},
    {"__itt_region_begin", AS_ANY(overlapped_begin)},
    {"__itt_region_end", AS_ANY(overlapped_end)},
    {"__itt_frame_begin_v3", AS_ANY(frame_begin)},
    {"__itt_frame_end_v3", AS_ANY(frame_end)},
    {"__itt_marker", AS_ANY(marker)},
    {"__itt_thread_set_name", AS_ANY(thread_set_name)},
    {"__itt_domain_create", AS_ANY(domain_create)},
    {"__itt_string_handle_create", AS_ANY(string_create)},
    {"__itt_counter_create", AS_ANY(counter_create)},
    {"__itt_counter_create_typed", AS_ANY(counter_create_typed)},
    {"__itt_counter_set_value", AS_ANY(counter_set_value)},
    {"__itt_counter_inc", AS_ANY(counter_inc)},
    {"__itt_counter_inc_delta", AS_ANY(counter_inc_delta)},
};

EXPORTED void __itt_api_init(struct program *program, int groups);
static any_function *find(const char *name)
{
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!strcmp(name, ours[i].name)) return ours[i].function;
    return NULL;
}

/* What is not here must be gone: a function that is there and gives nothing back
 * is believed (LLVM's OpenMP ends with an assertion then). */
EXPORTED void __itt_api_init(struct program *program, int groups)
{
    (void)groups;
    if (!program || !program->functions) return;
    for (struct function *f = program->functions; f->name; f++)
        if (f->at) *f->at = find(f->name);
}
