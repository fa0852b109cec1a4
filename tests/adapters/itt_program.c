/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tasks, regions and counters that a program gives ITT, through as much of the
 * interface's client side as that needs: a list of functions, which the library
 * that INTEL_LIBITTNOTIFY64 names fills. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "wait_check.h"

#define ROUNDS 50

struct id {
    unsigned long long part[3];
};
struct domain {
    volatile int flags;
    const char *name;
    void *wide;
    int extra1;
    void *extra2;
    struct domain *next;
};
typedef void any(void);
typedef void begin_function(struct domain *, struct id, struct id, void *);

enum {
    TASK_BEGIN,
    TASK_END,
    REGION_BEGIN,
    REGION_END,
    FRAME_BEGIN,
    FRAME_END,
    MARKER,
    THREAD,
    DOMAIN,
    STRING,
    COUNTER,
    VALUE,
    INC,
    UNKNOWN,
    N
};
static any *functions[N];
static struct {
    const char *name;
    any **at;
    void *first, *none;
    int group;
} list[] = {{"__itt_task_begin", &functions[TASK_BEGIN], NULL, NULL, 0},
            {"__itt_task_end", &functions[TASK_END], NULL, NULL, 0},
            {"__itt_region_begin", &functions[REGION_BEGIN], NULL, NULL, 0},
            {"__itt_region_end", &functions[REGION_END], NULL, NULL, 0},
            {"__itt_frame_begin_v3", &functions[FRAME_BEGIN], NULL, NULL, 0},
            {"__itt_frame_end_v3", &functions[FRAME_END], NULL, NULL, 0},
            {"__itt_marker", &functions[MARKER], NULL, NULL, 0},
            {"__itt_thread_set_name", &functions[THREAD], NULL, NULL, 0},
            {"__itt_domain_create", &functions[DOMAIN], NULL, NULL, 0},
            {"__itt_string_handle_create", &functions[STRING], NULL, NULL, 0},
            {"__itt_counter_create", &functions[COUNTER], NULL, NULL, 0},
            {"__itt_counter_set_value", &functions[VALUE], NULL, NULL, 0},
            {"__itt_counter_inc", &functions[INC], NULL, NULL, 0},
            {"__itt_something_newer", &functions[UNKNOWN], NULL, NULL, 0},
            {NULL, NULL, NULL, NULL, 0}};
static struct {
    unsigned char magic[8];
    unsigned long version[3];
    volatile long state[3];
    pthread_mutex_t mutex;
    void *library, *on_error;
    const char **path;
    void *functions;
} program = {.functions = list};

static void load(void)
{
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    void (*init)(void *, int) = NULL;
    CHECK(library);
    *(void **)(void *)&init = dlsym(library, "__itt_api_init");
    CHECK(init);
    functions[UNKNOWN] = (any *)load; /* a client's own, until then */
    init(&program, -1);
    CHECK(functions[TASK_BEGIN] && functions[VALUE] && !functions[UNKNOWN]);
}

#define CALL(which, type) ((type)functions[which])

/* ---- a counter of several threads ---------------------------------------- */

#define COUNTING 4
#define COUNTED 1000000

static pthread_barrier_t together;

static void *count(void *counter)
{
    pthread_barrier_wait(&together);
    for (int i = 0; i < COUNTED; i++)
        CALL(INC, void (*)(void *))(counter);
    return NULL;
}

static void count_together(void)
{
    pthread_t thread[COUNTING];
    void *items =
        CALL(COUNTER, void *(*)(const char *, const char *))("items", "mine");
    axp_set_enabled(axp_global(), false);
    pthread_barrier_init(&together, NULL, COUNTING);
    for (int i = 0; i < COUNTING; i++)
        CHECK(!pthread_create(&thread[i], NULL, count, items));
    for (int i = 0; i < COUNTING; i++)
        pthread_join(thread[i], NULL);
    axp_set_enabled(axp_global(), true);
    CALL(INC, void (*)(void *))(items);
    axp_view *v = axp_snapshot(axp_global());
    axp_counter_info counters[2];
    size_t n = axp_view_counters(v, counters, 2), n_found = 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(counters[i].name, "items") != 0) continue;
        CHECK(counters[i].last == COUNTING * COUNTED + 1);
        n_found++;
    }
    CHECK(n_found == 1);
    axp_view_destroy(v);
}

int main(void)
{
    struct id none = {{0, 0, 0}};
    load();
    struct domain *mine =
        CALL(DOMAIN, struct domain * (*)(const char *))("mine");
    void *step = CALL(STRING, void *(*)(const char *))("step");
    void *work = CALL(STRING, void *(*)(const char *))("work");
    void *loss =
        CALL(COUNTER, void *(*)(const char *, const char *))("loss", "mine");
    CHECK(mine && mine->flags && step && work && loss);
    CALL(THREAD, void (*)(const char *))("boss");
    errno = 77;
    for (unsigned long long i = 0; i < ROUNDS; i++) {
        struct id id = {{i, 0, 0}}, next = {{i + 1, 0, 0}};
        CALL(TASK_BEGIN, begin_function *)(mine, none, none, step);
        CALL(TASK_BEGIN, begin_function *)(mine, none, none, work);
        CALL(TASK_END, void (*)(struct domain *))(mine);
        CALL(TASK_END, void (*)(struct domain *))(mine);
        CALL(REGION_BEGIN, begin_function *)(mine, id, none, work);
        CALL(REGION_END, void (*)(struct domain *, struct id))(mine, next);
        CALL(REGION_END, void (*)(struct domain *, struct id))(mine, id);
        CALL(FRAME_BEGIN, void (*)(struct domain *, struct id *))(mine, NULL);
        CALL(FRAME_END, void (*)(struct domain *, struct id *))(mine, NULL);
        CALL(VALUE, void (*)(void *, void *))(loss, &i);
    }
    CALL(TASK_END, void (*)(struct domain *))(mine); /* of none */
    CALL(MARKER, void (*)(struct domain *, struct id, void *, int))
    (mine, none, work, 1);
    CHECK(errno == 77);
    axp_view *v = axp_snapshot(axp_global());
    CHECK(op_of(v, "mine: step").calls == ROUNDS);
    CHECK(op_of(v, "mine: work").calls == 2 * ROUNDS);
    CHECK(op_of(v, "mine: frame").calls == ROUNDS);
    CHECK(axp_view_steps(v).count == ROUNDS);
    axp_counter_info counter;
    CHECK(axp_view_counters(v, &counter, 1) == 1);
    CHECK(counter.count == ROUNDS && counter.max == ROUNDS - 1);
    thread_of(v, "boss");
    axp_view_destroy(v);
    count_together();
    puts("tasks are recorded");
    return 0;
}
