/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ranges that a program gives NVTX: as many as it counts, each with its name,
 * its domain, its thread; steps where a range is to end them. */
#include <errno.h>
#include <pthread.h>

#include "nvtx_client.h"
#include "wait_check.h"

#define ROUNDS 50

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t text;

static nvtxEventAttributes_t attributes(const char *name)
{
    nvtxEventAttributes_t a = {0};
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = name;
    return a;
}

/* Inner ones of a domain end in an order of their own. */
static void one_round(int i)
{
    nvtxEventAttributes_t a = attributes("inner");
    char name[32];
    errno = 77;
    CHECK(nvtxRangePushA("step") == 0);
    nvtxDomainRangePushEx(domain, &a);
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = text;
    a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    a.payload.dValue = i;
    nvtxRangePushEx(&a);
    nvtxDomainRangePop(domain); /* before the one above it */
    CHECK(nvtxRangePop() == 1);
    snprintf(name, sizeof name, "kind %d", i % 3); /* a text that changes */
    nvtxRangePushA(name);
    nvtxRangePop();
    nvtxRangePushW(L"weit \u00e4");
    nvtxRangePop();
    CHECK(nvtxRangePop() == 0);
    nvtxMarkA("mark");
    CHECK(errno == 77);
}

static void *other(void *id)
{
    nvtxNameOsThreadA((uint32_t)gettid(), "other");
    nvtxRangeEnd(*(nvtxRangeId_t *)id); /* begun elsewhere */
    one_round(0);
    nvtxRangePop(); /* of none */
    return NULL;
}

/* Pushed while nothing was recorded: its pop is not somebody else's end. */
static void *push_and_pop(void *barrier)
{
    nvtxRangePushA("before"); /* the adapter knows this thread */
    nvtxRangePop();
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier); /* it is disabled */
    nvtxRangePushA("range");
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier); /* it is enabled, another is open */
    nvtxRangePop();
    pthread_barrier_wait(barrier);
    return NULL;
}

static void *push_late(void *barrier)
{
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    nvtxRangePushA("range"); /* its first */
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    nvtxRangePop();
    pthread_barrier_wait(barrier);
    return NULL;
}

static void ranges_of_others(void)
{
    pthread_t threads[2];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 3);
    CHECK(!pthread_create(&threads[0], NULL, push_and_pop, &barrier));
    CHECK(!pthread_create(&threads[1], NULL, push_late, &barrier));
    pthread_barrier_wait(&barrier);
    axp_set_enabled(axp_global(), false);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    axp_set_enabled(axp_global(), true);
    nvtxRangePushA("range");
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    sleep_ms(1);
    nvtxRangePushA("inside");
    sleep_ms(1);
    nvtxRangePop();
    nvtxRangePop();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    axp_view *v = axp_snapshot(axp_global());
    axp_op op = {0};
    CHECK(v && !axp_view_op(v, "range", &op));
    CHECK(op.calls == 1); /* of one thread, which knows what was in it */
    CHECK(op.self_ns > 0 && op.self_ns < op.total_ns);
    axp_view_destroy(v);
}

static uint64_t calls_of(const axp_view *v, const char *name)
{
    axp_op op = {0};
    return axp_view_op(v, name, &op) ? 0 : op.calls;
}

int main(void)
{
    pthread_t thread;
#ifndef NVTX_REAL
    CHECK(nvtx_begin());
#endif
    domain = nvtxDomainCreateA("library");
    text = nvtxDomainRegisterStringA(domain, "registered");
    nvtxRangeId_t id = nvtxRangeStartA("process wide");
    for (int i = 0; i < ROUNDS; i++)
        one_round(i);
    CHECK(!pthread_create(&thread, NULL, other, &id));
    pthread_join(thread, NULL);

    axp_view *v = axp_snapshot(axp_global());
    CHECK(v);
    const char *names[] = {"step", "library: inner", "registered",
                           "weit \xc3\xa4"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(calls_of(v, names[i]) == ROUNDS + 1);
    CHECK(calls_of(v, "kind 0") == ROUNDS / 3 + 2);
    CHECK(calls_of(v, "process wide") == 1);
    CHECK(axp_view_steps(v).count == ROUNDS + 1);
    axp_counter_info counters[8];
    size_t n = axp_view_counters(v, counters, 8);
    CHECK(n == 1 && counters[0].count == ROUNDS + 1 &&
          counters[0].max == ROUNDS - 1);
    thread_of(v, "other");
    axp_view_destroy(v);
    ranges_of_others();
    puts("ranges are recorded");
    return 0;
}
