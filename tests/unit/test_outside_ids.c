/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Looking for processes and threads by what they call themselves: in our own
 * namespace, where that is what they are called. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/os_namespace.h"
#include "os/os_thread.h"
#include "outside/outside_ids.h"
#include "test_support.h"

static pthread_barrier_t barrier;
static uint32_t other;

static void *be_other(void *arg)
{
    other = (uint32_t)axp__thread_id();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return arg;
}

/* As an emulator may not have it, nor a kernel before 4.1. */
static void need_numbers(void)
{
    if (!axp__pid_namespace(0) ||
        !axp__ids_inner((uint32_t)getpid(), (uint32_t)getpid()))
        skip();
}

static struct axp__ids *find(uint64_t name_space, uint32_t inner)
{
    struct axp__ids *ids = axp__ids_create(name_space, inner);
    assert_non_null(ids);
    return ids;
}

static void namespaces_have_numbers(void **state)
{
    (void)state;
    need_numbers();
    uint64_t own = axp__pid_namespace(0);
    assert_int_equal(axp__pid_namespace((uint64_t)getpid()), own);
    assert_int_equal(axp__pid_namespace(UINT64_MAX), 0);
}

static void a_process_is_found_with_its_threads(void **state)
{
    (void)state;
    pthread_t thread;
    uint32_t own = (uint32_t)getpid();
    need_numbers();
    struct axp__ids *ids = find(axp__pid_namespace(0), own);
    assert_int_equal(axp__ids_process(ids), 0);
    size_t n_first = axp__ids_look(ids, false);
    assert_true(n_first == 1 || (AXP_EMULATED && n_first > 1)); /* emulator's */
    assert_int_equal(axp__ids_process(ids), own);
    assert_int_equal(axp__ids_thread(ids, own), own);
    assert_int_equal(axp__ids_look(ids, false), 0); /* too soon */
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, be_other, NULL), 0);
    pthread_barrier_wait(&barrier);
    size_t n_more = axp__ids_look(ids, true);
    assert_true(n_more == 1 || (TS_TSAN && n_more == 2)); /* it has one, too */
    assert_int_equal(axp__ids_thread(ids, other), other);
    assert_int_equal(axp__ids_look(ids, true), 0);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    assert_int_equal(axp__ids_look(ids, true), 0);
    assert_int_equal(axp__ids_thread(ids, other), other);
    size_t n;
    const struct axp__id *list = axp__ids_list(ids, &n);
    assert_int_equal(n, n_first + n_more);
    assert_int_equal(list[0].since_ticks, 0);
    assert_true(list[n_first].since_ticks > 0);
    axp__ids_destroy(ids);
    pthread_barrier_destroy(&barrier);
}

static void who_is_not_there_is_not_found(void **state)
{
    (void)state;
    need_numbers();
    struct axp__ids *ids = find(axp__pid_namespace(0) + 1, (uint32_t)getpid());
    assert_int_equal(axp__ids_look(ids, true), 0);
    assert_int_equal(axp__ids_process(ids), 0);
    axp__ids_destroy(ids);
    ids = find(axp__pid_namespace(0), UINT32_MAX);
    assert_int_equal(axp__ids_look(ids, true), 0);
    assert_int_equal(axp__ids_process(ids), 0);
    assert_int_equal(axp__ids_thread(ids, 1), 0);
    axp__ids_destroy(ids);
    axp__ids_destroy(NULL);
    assert_int_equal(axp__ids_inner(UINT32_MAX, 1), 0);
}

/* From then on so many files may be opened. */
static struct rlimit leave_files(rlim_t n)
{
    struct rlimit was, is;
    int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(lowest >= 0);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    is = was;
    is.rlim_cur = (rlim_t)lowest + n;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &is), 0);
    return was;
}

/* A number that was away may be another's: whose, is asked until it is known. */
static void who_could_not_be_asked_is_asked_again(void **state)
{
    (void)state;
    need_numbers();
    struct axp__ids *ids = find(axp__pid_namespace(0), (uint32_t)getpid());
    size_t n = axp__ids_look(ids, true), n_all;
    assert_true(n > 0);
    for (rlim_t left = 0; left < 2; left++) { /* no list; then no answers */
        struct rlimit was = leave_files(left);
        size_t more = axp__ids_look(ids, true);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
        assert_int_equal(more, 0);
    }
    assert_int_equal(axp__ids_look(ids, true), n);
    const struct axp__id *list = axp__ids_list(ids, &n_all);
    assert_int_equal(n_all, 2 * n);
    assert_true(list[n].since_ticks > 0);
    axp__ids_destroy(ids);
}

/* Several that are looked for at once: of each namespace its own. */
static void several_are_found_at_once(void **state)
{
    (void)state;
    need_numbers();
    uint64_t own = axp__pid_namespace(0);
    struct axp__ids *all[] = {
        find(own, UINT32_MAX), find(own, (uint32_t)getpid()),
        find(own + 1, (uint32_t)getpid()), find(own, (uint32_t)getpid())};
    axp__ids_find(all, 4);
    assert_int_equal(axp__ids_process(all[0]), 0);
    assert_int_equal(axp__ids_process(all[1]), getpid());
    assert_int_equal(axp__ids_process(all[2]), 0);
    assert_int_equal(axp__ids_process(all[3]), getpid());
    assert_true(axp__ids_look(all[1], false) > 0);
    assert_int_equal(axp__ids_thread(all[1], (uint32_t)getpid()), getpid());
    for (size_t i = 0; i < 4; i++)
        axp__ids_destroy(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(namespaces_have_numbers),
        cmocka_unit_test(a_process_is_found_with_its_threads),
        cmocka_unit_test(who_is_not_there_is_not_found),
        cmocka_unit_test(who_could_not_be_asked_is_asked_again),
        cmocka_unit_test(several_are_found_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
