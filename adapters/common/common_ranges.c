/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ranges of other tools' interfaces; see common_ranges.h. */
#include "adapters/common/common_ranges.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <axprof/axprof_adapter.h>

#include "adapters/common/common_own.h"
#include "adapters/common/common_text.h"

#define MOST_OPEN 128u  /* of a thread */
#define MOST_LIVE 1024u /* started, and not ended */
#define MOST_TEXT 200u
#define KNOWN 64u /* texts that a thread remembers */

static const char *step_name; /* NULL: none */

__attribute__((constructor)) static void read_step(void)
{
    const char *name = secure_getenv("AXPROF_STEP_RANGE");
    if (name && *name) step_name = common_own_text(name);
}

static bool is_quiet;

static void be_quiet(bool is)
{
    __atomic_store_n(&is_quiet, is, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void hear(void)
{
    axp_quiet_tell(be_quiet);
}

bool common_ranges_are_quiet(void)
{
    return __atomic_load_n(&is_quiet, __ATOMIC_RELAXED);
}

/* ---- names -------------------------------------------------------------- */

/* The range's own text, or one that is made in room. */
static const char *text_of(const struct common_range *r, char room[MOST_TEXT])
{
    const char *end = room + MOST_TEXT - 1;
    if (!r->name) return "";
    if (!r->domain || !*r->domain) return r->name;
    common_put(common_put(common_put(room, end, r->domain), end, ": "), end,
               r->name);
    return room;
}

static bool is_step(const struct common_range *r, const char *text)
{
    return step_name && r->name &&
           (!strcmp(step_name, r->name) || !strcmp(step_name, text));
}

static void put_payload(const struct common_range *r, const char *text)
{
    if (r->payload) axp_counter(axp_global(), text, *r->payload);
}

/* ---- pushed and popped -------------------------------------------------- */

/* A library that a program loads itself has little room for thread-local
 * variables: a pointer. */
struct thread {
    struct open {
        const char *domain;
        uint32_t name; /* 0: not recorded */
        bool is_step;
    } open[MOST_OPEN];
    uint32_t n;    /* may be more than is kept */
    struct known { /* the name of a domain's text, by where that lies */
        const char *at, *domain, *name;
        uint32_t own; /* where the text itself begins in the name */
    } known[KNOWN];
};
static __thread struct thread *self __attribute__((tls_model("initial-exec")));
static pthread_key_t key;

static void free_thread(void *of)
{
    self = NULL;
    common_own_free(of);
}

__attribute__((constructor)) static void make_key(void)
{
    pthread_key_create(&key, free_thread);
}

/* What else is called here keeps errno. */
static __attribute__((noinline)) struct thread *make_thread(void)
{
    int error = errno;
    self = common_own_take(sizeof *self);
    if (self) pthread_setspecific(key, self);
    errno = error;
    return self;
}

/* NULL: no memory. */
static struct thread *of_thread(void)
{
    return __builtin_expect(self != NULL, 1) ? self : make_thread();
}

static int count_in(const struct thread *t, const char *domain)
{
    int n = 0;
    for (uint32_t i = 0; i < t->n && i < MOST_OPEN; i++)
        n += t->open[i].domain == domain;
    return n;
}

static __attribute__((noinline)) const char *learn(struct known *k,
                                                   const struct common_range *r)
{
    char room[MOST_TEXT];
    const char *text = text_of(r, room);
    *k = (struct known){.at = r->name,
                        .domain = r->domain,
                        .name = axp_name(text, strlen(text)),
                        .own = (uint32_t)strlen(r->domain) + 2};
    if (k->own > strlen(k->name)) k->at = NULL; /* it was cut */
    return k->name;
}

/* Of a domain's text the name that was made of both. Texts are mostly constants:
 * the same place, and mostly the same text. */
static const char *name_of(struct thread *t, const struct common_range *r)
{
    if (!r->name) return "";
    if (!r->domain || !*r->domain) return r->name;
    uintptr_t mixed = (uintptr_t)r->name ^ (uintptr_t)r->name >> 7;
    struct known *k = &t->known[mixed % KNOWN];
    bool is_known = k->at == r->name && k->domain == r->domain && k->name &&
                    !strcmp(k->name + k->own, r->name);
    return is_known ? k->name : learn(k, r);
}

static struct open start(struct thread *t, const struct common_range *r)
{
    const char *name = name_of(t, r);
    struct open o = {r->domain, axp_range_start(name), is_step(r, name)};
    put_payload(r, name);
    return o;
}

/* No name is made for it. */
static __attribute__((noinline)) struct open pass(const struct common_range *r)
{
    char room[MOST_TEXT];
    return (struct open){.domain = r->domain,
                         .is_step = is_step(r, text_of(r, room))};
}

int common_range_push(const struct common_range *r)
{
    bool is_recording = axp_is_recording();
    if (!self && !is_recording) return 0; /* nor memory */
    struct thread *t = of_thread();
    if (!t) return 0;
    int depth = t->n ? count_in(t, r->domain) : 0;
    if (t->n < MOST_OPEN) t->open[t->n] = is_recording ? start(t, r) : pass(r);
    t->n++;
    return depth;
}

int common_range_pop(const char *domain)
{
    struct thread *t = self;
    if (!t) return -1;
    if (t->n > MOST_OPEN) return (int)--t->n; /* one that is not kept */
    uint32_t i = t->n;
    while (i && t->open[i - 1].domain != domain)
        i--;
    if (!i) return -1;
    struct open o = t->open[i - 1];
    if (i < t->n) /* it is not the innermost */
        memmove(&t->open[i - 1], &t->open[i], (t->n - i) * sizeof o);
    t->n--;
    if (o.name) axp_range_stop(o.name);
    if (o.is_step) axp_step(axp_global());
    return t->n ? count_in(t, domain) : 0;
}

/* ---- started and ended -------------------------------------------------- */

enum { FREE, TAKEN, LIVE };
static struct live {
    uint32_t state, number; /* number: how often it was used */
    bool is_step;
    char text[MOST_TEXT];
} live[MOST_LIVE];

/* 1 + its place, and how often it was used above. */
static uint64_t id_of(uint32_t place)
{
    return (uint64_t)live[place].number << 16 | (place + 1);
}

uint64_t common_range_start(const struct common_range *r)
{
    char room[MOST_TEXT];
    for (uint32_t i = 0; i < MOST_LIVE; i++) {
        uint32_t is = FREE;
        if (__atomic_load_n(&live[i].state, __ATOMIC_RELAXED) != FREE ||
            !__atomic_compare_exchange_n(&live[i].state, &is, TAKEN, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        const char *text = text_of(r, room);
        live[i].number++;
        live[i].is_step = is_step(r, text);
        common_put(live[i].text, live[i].text + MOST_TEXT - 1, text);
        axp_async_begin(axp_global(), live[i].text, id_of(i));
        put_payload(r, live[i].text);
        __atomic_store_n(&live[i].state, LIVE, __ATOMIC_RELEASE);
        return id_of(i);
    }
    return 0;
}

void common_range_end(uint64_t id)
{
    uint32_t place = (uint32_t)(id & 0xffff) - 1, is = LIVE;
    if (place >= MOST_LIVE || id_of(place) != id ||
        !__atomic_compare_exchange_n(&live[place].state, &is, TAKEN, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    axp_async_end(axp_global(), live[place].text, id);
    if (live[place].is_step) axp_step(axp_global());
    __atomic_store_n(&live[place].state, FREE, __ATOMIC_RELEASE);
}

void common_range_mark(const struct common_range *r)
{
    char room[MOST_TEXT];
    const char *text = text_of(r, room);
    axp_instant(axp_global(), text);
    put_payload(r, text);
}
