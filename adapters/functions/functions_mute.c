/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Muted functions: who they are, and who has counted how many of their calls;
 * see functions_mute.h. */
#include "functions_mute.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <axprof/axprof_adapter.h>

#include "adapters/common/common_clock.h"
#include "adapters/common/common_exit.h"
#include "adapters/common/common_map.h"
#include "adapters/common/common_place.h"

#define TOO_OFTEN_NS 3000000u
#define MEASUREMENTS 1024

static struct functions_counts *all;           /* grows at its head */
static const char *muted[FUNCTIONS_MUTED_MAX]; /* as common_place has it */
static uint64_t told[FUNCTIONS_MUTED_MAX];
static uint32_t n_muted, n_threads;
/* What was measured of a muted call, by its length. One measurement is as good
 * as the moment it was made in, and others on the machine only make it longer: a
 * quarter is shorter than what is taken for it. */
enum { COST_STEP_PS = 64, COSTS = 512 };
static uint32_t costs[COSTS];
static uint32_t n_measured;
static int is_off; /* AXPROF_FUNCTIONS=all: every call is wanted */

bool functions_is_quiet;

/* ---- which functions ---------------------------------------------------- */

/* Room for the names of all, touched as they come; NULL: no memory. */
static char *text_of(uint32_t number)
{
    static char *texts;
    const size_t bytes = (size_t)FUNCTIONS_MUTED_MAX * COMMON_PLACE_MAX;
    char *all_texts = __atomic_load_n(&texts, __ATOMIC_ACQUIRE), *none = NULL;
    if (!all_texts) {
        if (!(all_texts = common_map(bytes))) return NULL;
        if (!__atomic_compare_exchange_n(&texts, &none, all_texts, 0,
                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            common_unmap(all_texts, bytes); /* another thread was first */
            all_texts = none;
        }
    }
    return all_texts + (size_t)number * COMMON_PLACE_MAX;
}

/* The function in its module, and the module's path. */
static bool is_same_text(const char *a, const char *b)
{
    size_t n = strlen(a) + 1;
    return !strcmp(a, b) && !strcmp(a + n, b + n);
}

/* What a function of a library that was closed had; 0: none. */
static uint32_t find_number(const char *text)
{
    for (uint32_t i = 1; i < FUNCTIONS_MUTED_MAX - 1; i++) {
        const char *is = __atomic_load_n(&muted[i], __ATOMIC_ACQUIRE);
        if (is && is_same_text(is, text)) return i;
    }
    return 0;
}

static uint32_t take_number(const void *function)
{
    char text[COMMON_PLACE_MAX] = "";
    common_place(function, false, text);
    uint32_t number = find_number(text);
    if (number) return number;
    number = __atomic_add_fetch(&n_muted, 1, __ATOMIC_RELAXED);
    if (number >= FUNCTIONS_MUTED_MAX - 1) return FUNCTIONS_MUTED_MAX - 1;
    char *kept = text_of(number);
    if (kept) memcpy(kept, text, sizeof text);
    __atomic_store_n(&muted[number], kept, __ATOMIC_RELEASE);
    return number;
}

/* Another thread may have done so meanwhile. The name asks for links. */
static void mute(struct functions_site *s)
{
    uint32_t none = 0;
    if (functions_muted(s) || !axp_recording_is_open()) return;
    __atomic_compare_exchange_n(&s->muted, &none, take_number(s->function), 0,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void functions_unmute(struct functions_site *s)
{
    struct functions_counts *c = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
    if (!functions_muted(s)) return;
    __atomic_store_n(&s->muted, 0, __ATOMIC_RELAXED);
    for (; c; c = c->next)
        functions_near_forget(c->near, s->function);
}

/* Two threads may both add theirs before one counts it: a little too much. */
void functions_measure_again(void)
{
    if (__atomic_load_n(&n_measured, __ATOMIC_RELAXED) >= MEASUREMENTS) return;
    uint64_t step = functions_measure() / COST_STEP_PS;
    __atomic_fetch_add(&costs[step < COSTS ? step : COSTS - 1], 1,
                       __ATOMIC_RELAXED);
    __atomic_fetch_add(&n_measured, 1, __ATOMIC_RELAXED);
}

static uint64_t cost_ns(uint64_t calls)
{
    uint32_t n = __atomic_load_n(&n_measured, __ATOMIC_RELAXED), seen = 0;
    size_t i = 0;
    while (i < COSTS &&
           (seen += __atomic_load_n(&costs[i], __ATOMIC_RELAXED)) * 4 < n)
        i++;
    double ps = ((double)i + 0.5) * COST_STEP_PS;
    return n ? (uint64_t)((double)calls * ps / 1000) : 0;
}

void functions_judge(struct functions_site *s)
{
    int error = errno;
    uint64_t now = common_clock_ns(CLOCK_MONOTONIC), since = s->since_ns;
    uint32_t threads = __atomic_load_n(&n_threads, __ATOMIC_RELAXED);
    uint64_t few = TOO_OFTEN_NS / (threads ? threads : 1);
    s->since_ns = now;
    if (s->n_calls > FUNCTIONS_FREE && !is_off && now - since < few) {
        functions_measure_again();
        mute(s);
    }
    errno = error;
}

/* ---- how many calls ----------------------------------------------------- */

void functions_count_tell(struct functions_counts *c, uint32_t number)
{
    static const char others[] = "(other functions)\0\0";
    const char *text = __atomic_load_n(&muted[number], __ATOMIC_ACQUIRE);
    if (functions_is_quiet) return;
    uint64_t n = __atomic_exchange_n(&c->n_calls[number], 0, __ATOMIC_RELAXED);
    if (!n) return;
    axp_muted(text ? text : others, n,
              __atomic_add_fetch(&told[number], n, __ATOMIC_RELAXED),
              cost_ns(n));
}

static void tell_all(struct functions_counts *c)
{
    for (uint32_t i = 1; i < FUNCTIONS_MUTED_MAX; i++)
        functions_count_tell(c, i);
}

static void count_thread(void)
{
    __atomic_fetch_add(&n_threads, 1, __ATOMIC_RELAXED);
}

static struct functions_counts *find_free(void)
{
    struct functions_counts *c = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
    while (c && __atomic_exchange_n(&c->is_taken, 1, __ATOMIC_ACQUIRE))
        c = c->next;
    if (c) count_thread();
    return c;
}

struct functions_counts *functions_counts_take(void)
{
    struct functions_counts *c = find_free();
    if (c) return c;
    c = common_map(sizeof *c);
    if (!c) return NULL;
    count_thread();
    c->is_taken = 1;
    c->next = __atomic_load_n(&all, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all, &c->next, c, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    return c;
}

void functions_counts_give(struct functions_counts *c)
{
    tell_all(c);
    __atomic_fetch_sub(&n_threads, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&c->is_taken, 0, __ATOMIC_RELEASE);
}

/* What the parent counted is the parent's, and so are its other threads. */
static void forget_in_child(void)
{
    const struct functions_counts *own = functions_counts_own();
    memset(told, 0, sizeof told);
    for (struct functions_counts *c = all; c; c = c->next) {
        memset(c->n_calls, 0, sizeof c->n_calls);
        c->is_taken = c == own;
    }
    n_threads = own != NULL;
}

/* Before the recorder's own, which ends the file. Threads that go on count
 * what nobody will ask for. */
__attribute__((destructor)) static void tell_at_end(void)
{
    int error = errno;
    struct functions_counts *c = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
    for (; c; c = c->next)
        tell_all(c);
    errno = error;
}

static void be_quiet(bool is)
{
    __atomic_store_n(&functions_is_quiet, is, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void begin(void)
{
    const char *wish = secure_getenv("AXPROF_FUNCTIONS");
    is_off = wish && !strcmp(wish, "all");
    pthread_atfork(NULL, NULL, forget_in_child);
    common_exit_tell(tell_at_end);
    axp_quiet_tell(be_quiet);
}
