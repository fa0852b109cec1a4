/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs compiled with an older header, and with a newer one: structs that
 * are shorter and longer than the library's, enums with values that it does
 * not know. And what bindings are made of: tokens, names with a length. */
#include "test_support.h"

#include <errno.h>

#include "axprof/axprof_adapter.h"
#include "record/record_name.h"

/* ---- structs that a caller fills --------------------------------------------- */

/* A later version's, with one more field that this library does not know. */
struct later_options {
    axp_options now;
    uint64_t unknown[4];
};

static void options_of_any_size(void **state)
{
    (void)state;
    struct later_options later = {{.size = sizeof later, .title = "later"},
                                  {1, 2, 3, 4}};
    axp_profiler *p = axp_profiler_create(&later.now);
    assert_non_null(p);
    axp_profiler_destroy(p);

    /* An older one ended before the flags: they are not looked at. */
    axp_options older = {.size = offsetof(axp_options, flags),
                         .flags = 0xffffffff};
    p = axp_profiler_create(&older);
    assert_non_null(p);
    assert_true(axp_is_enabled(p));
    axp_profiler_destroy(p);

    axp_options first = {.flags = AXP_START_DISABLED};
    p = axp_profiler_create(&first); /* 0: all of the first version */
    assert_non_null(p);
    assert_false(axp_is_enabled(p));
    axp_profiler_destroy(p);
}

static void a_size_that_is_none_is_refused(void **state)
{
    (void)state;
    size_t none[] = {1, 7, 4097, SIZE_MAX};
    axp_profiler *p = ts_profiler();
    axp_view *v = axp_snapshot(p);
    FILE *null = fopen("/dev/null", "w");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        axp_options o = {.size = none[i]};
        assert_null(axp_profiler_create(&o));
        assert_non_null(strstr(axp_last_error(), "options.size"));
        axp_thresholds t = {.size = none[i]};
        assert_null(axp_analyze(v, &t));
        axp_report_options r = {.size = none[i]};
        assert_int_equal(axp_report_write_ex(v, AXP_FORMAT_TEXT, &r, null),
                         AXP_E_INVALID);
        axp_alloc a = {.size = none[i], .name = "a", .bytes = 8};
        axp_record_alloc_ex(p, &a);
    }
    assert_int_equal(axp_current_memory(p), 0);
    assert_int_equal(ts_warnings(p, "bad_structs"), 4);
    fclose(null);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void allocations_of_any_size(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    char block;
    struct {
        axp_alloc now;
        uint64_t unknown;
    } later = {{.size = sizeof later, .name = "a", .bytes = 3}, 77};
    axp_record_alloc_ex(p, &later.now);
    axp_alloc older = {.size = offsetof(axp_alloc, kind), /* kind is no kind */
                       .name = "b",
                       .ptr = &block,
                       .bytes = 5,
                       .kind = (axp_mem)99};
    axp_record_alloc_ex(p, &older);
    assert_int_equal(axp_current_memory(p), 8);
    assert_int_equal(ts_warnings(p, "bad_enums"), 0);
    axp_profiler_destroy(p);
}

static void work_of_any_size(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    struct {
        axp_work now;
        double unknown;
    } later = {{.flops = 7, .dims = {2, 3}}, 5};
    axp_start_work_sized(p, "later", &later.now, sizeof later);
    axp_stop(p, "later");
    axp_work older = {.flops = 9, .bytes = 4}; /* knew no bytes */
    axp_start(p, "older");
    axp_add_work_sized(p, &older, offsetof(axp_work, bytes));
    axp_stop(p, "older");
    assert_true(ts_op(p, "later").flops == 7);
    assert_true(ts_op(p, "older").flops == 9);
    assert_int_equal(ts_op(p, "older").n_bytes_calls, 0);
    axp_profiler_destroy(p);
}

static void modules_of_any_size(void **state)
{
    (void)state;
    struct {
        axp_module now;
        uint64_t unknown;
    } later = {{.size = sizeof later,
                .bias = 1,
                .first = 2,
                .last = 3,
                .path = "/later",
                .build_id = "-"},
               4};
    axp_module first = later.now, none = later.now;
    uint32_t type = AXP__KIND_FLAGS(AXP__KIND_MODULE);
    axp_module_seen(&later.now);
    assert_int_not_equal(axp__name_find_of(type, "1 2 3 - /later"), 0);
    first.size = 0;
    first.path = "/first";
    axp_module_seen(&first);
    assert_int_not_equal(axp__name_find_of(type, "1 2 3 - /first"), 0);
    none.size = 7;
    none.path = "/none";
    axp_module_seen(&none);
    assert_int_equal(axp__name_find_of(type, "1 2 3 - /none"), 0);
}

static int count_event(const axp_event_info *e, void *ctx)
{
    (void)e;
    ++*(int *)ctx;
    return 0;
}

static void what_reads_takes_any_size(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 10; i++) {
        axp_instant(p, "a");
        axp_instant(p, "b");
    }
    axp_view *v = axp_snapshot(p);
    int n = 0;
    struct {
        axp_event_filter now;
        uint64_t unknown;
    } later = {{.size = sizeof later, .name = "a"}, 1};
    assert_int_equal(axp_view_events(v, &later.now, count_event, &n), AXP_OK);
    assert_int_equal(n, 10);
    const axp_event_type none = AXP_EVENT_STEP;
    axp_event_filter older = {
        .size = offsetof(axp_event_filter, type), .name = "b", .type = &none};
    assert_int_equal(axp_view_events(v, &older, count_event, &n), AXP_OK);
    assert_int_equal(n, 20);
    axp_thresholds t = {.size = offsetof(axp_thresholds, set), .n_set = 99};
    axp_findings *f = axp_analyze(v, &t);
    assert_non_null(f);
    axp_findings_destroy(f);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- structs that are filled ---------------------------------------------------- */

struct later_op {
    axp_op now;
    uint64_t unknown[3];
};

static void lists_have_the_callers_stride(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 5; i++)
        for (int k = 0; k <= i; k++) {
            char name[] = {(char)('a' + i), 0};
            axp_start(p, name);
            axp_stop(p, name);
        }
    axp_view *v = axp_snapshot(p);
    struct later_op later[6];
    memset(later, 0xee, sizeof later);
    assert_int_equal(
        axp_view_ops_sized(v, AXP_BY_CALLS, &later[0].now, 5, sizeof *later),
        5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(later[i].now.calls, 5 - i);
        assert_int_equal(later[i].now.name[0], 'e' - i);
        assert_int_equal(later[i].unknown[0] | later[i].unknown[2], 0);
    }
    assert_int_equal(later[5].unknown[0], 0xeeeeeeeeeeeeeeee);

    struct { /* an older one, which had two fields */
        const char *name;
        uint64_t calls;
    } older[3];
    memset(older, 0xee, sizeof older);
    assert_int_equal(
        axp_view_ops_sized(v, AXP_BY_CALLS, (axp_op *)older, 2, sizeof *older),
        5);
    assert_string_equal(older[0].name, "e");
    assert_int_equal(older[1].calls, 4);
    assert_int_equal(older[2].calls, 0xeeeeeeeeeeeeeeee);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* Every call that fills a struct, with one more word than it knows and with the
 * first word alone. */
#define CHECK_LIST(name, type)                                                 \
    do {                                                                       \
        struct {                                                               \
            type now;                                                          \
            uint64_t unknown;                                                  \
        } later[64];                                                           \
        uint64_t first[64];                                                    \
        type plain[64];                                                        \
        memset(later, 0xee, sizeof later);                                     \
        size_t n = name##_sized(v, &later[0].now, 64, sizeof *later);          \
        assert_in_range(n, 1, 64);                                             \
        assert_int_equal(name(v, plain, 64), n);                               \
        assert_int_equal(name##_sized(v, (type *)first, 64, sizeof *first),    \
                         n);                                                   \
        for (size_t i = 0; i < n; i++) {                                       \
            assert_int_equal(later[i].unknown, 0);                             \
            assert_memory_equal(&later[i].now, &plain[i], sizeof(uint64_t));   \
            assert_memory_equal(&first[i], &plain[i], sizeof(uint64_t));       \
        }                                                                      \
    } while (0)

static void every_list_takes_a_size(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "op");
    axp_record_alloc(p, "block", 64);
    axp_counter(p, "loss", 1);
    axp_step(p);
    axp_stop(p, "never started");
    axp_track_span(axp_track_create(p, "queue"), "copy", 1, 2, NULL);
    axp_stop(p, "op");
    axp_process_begin(p, "child", 7);
    axp_process_end(p, "child", 7);
    axp_view *v = axp_snapshot(p);
    CHECK_LIST(axp_view_tree, axp_tree_node);
    CHECK_LIST(axp_view_memory_names, axp_memory_name);
    CHECK_LIST(axp_view_leaks, axp_leak);
    CHECK_LIST(axp_view_threads, axp_thread_info);
    CHECK_LIST(axp_view_processes, axp_process_info);
    CHECK_LIST(axp_view_tracks, axp_track_info);
    CHECK_LIST(axp_view_counters, axp_counter_info);
    CHECK_LIST(axp_view_warnings, axp_warning);

    uint64_t current[2] = {1, 1};
    axp_view_memory_sized(v, (axp_memory *)current, 8);
    assert_int_equal(current[0], 64);
    assert_int_equal(current[1], 1);
    uint64_t count[2] = {0, 1};
    axp_view_steps_sized(v, (axp_step_stats *)count, 8);
    assert_int_equal(count[0], 1);
    assert_int_equal(count[1], 1);
    struct later_op one;
    memset(&one, 0xee, sizeof one);
    assert_int_equal(axp_view_op_sized(v, "op", &one.now, sizeof one), AXP_OK);
    assert_int_equal(one.now.calls, 1);
    assert_int_equal(one.unknown[2], 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- enums, version ---------------------------------------------------------------- */

static void later_values_of_enums_harm_nothing(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start_work(p, "op", (axp_work){.flops = 1, .dtype = (axp_dtype)1000});
    axp_category(p, (axp_cat)1000);
    axp_event(p, "e", (axp_event_type)1000, NULL);
    axp_alloc a = {.name = "m", .bytes = 1, .kind = (axp_mem)1000};
    axp_record_alloc_ex(p, &a);
    axp_stop(p, "op");
    axp_op op = ts_op(p, "op");
    assert_int_equal(op.dtype, AXP_DTYPE_UNKNOWN);
    assert_int_equal(op.category, AXP_CAT_NONE);
    assert_true(op.flops == 1);
    assert_int_equal(axp_current_memory(p), 1);
    assert_true(ts_warnings(p, "bad_enums") >= 3);
    axp_view *v = axp_snapshot(p);
    assert_int_equal(axp_view_ops(v, (axp_order)1000, &op, 1), 1);
    assert_int_equal(axp_report_write(v, (axp_format)1000, stdout),
                     AXP_E_INVALID);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
    assert_string_equal(axp_version(), AXP_VERSION);
}

/* ---- tokens, names with a length ------------------------------------------------------ */

static void tokens_of_any_caller(void **state)
{
    (void)state;
    static uint32_t site;
    axp_profiler *p = ts_profiler();
    uint64_t outer = axp_begin(p, "outer"), inner = axp_begin(p, "inner");
    axp_end(inner);
    axp_end(inner); /* again: nothing */
    axp_end(outer);
    axp_end(0);
    assert_int_equal(ts_op(p, "outer").calls, 1);
    assert_int_equal(ts_op(p, "inner").calls, 1);
    axp_profiler_destroy(p);

    axp_reset(axp_global());
    for (int i = 0; i < 3; i++) /* the second text is not looked at */
        axp_end(axp_begin_site(&site, i ? "other\0\0" : "place\0f.py\00012"));
    axp_op op;
    axp_view *v = axp_snapshot(axp_global());
    assert_int_equal(axp_view_op(v, "place", &op), AXP_OK);
    assert_int_equal(op.calls, 3);
    assert_string_equal(op.file, "f.py");
    assert_int_equal(op.line, 12);
    axp_view_destroy(v);
}

static void sites_take_work_of_any_size(void **state)
{
    (void)state;
    static uint32_t site, short_site;
    struct {
        axp_work now;
        double unknown;
    } later = {{.flops = 7, .bytes = 5, .dims = {2, 3}}, 5};
    axp_end(axp_begin_site_work(&site, "sited\0a.c\0001", &later.now,
                                sizeof later));
    axp_end(axp_begin_site_work(&short_site, "short\0a.c\0002", &later.now,
                                offsetof(axp_work, bytes)));
    axp_op sited = ts_op(axp_global(), "sited");
    assert_int_equal(sited.calls, 1);
    assert_true(sited.flops == 7 && sited.bytes == 5);
    assert_int_equal(sited.line, 1);
    assert_true(ts_op(axp_global(), "short").flops == 7);
    assert_int_equal(ts_op(axp_global(), "short").n_bytes_calls, 0);
}

static void names_have_a_length(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    const char text[] = {'l', 'a', 'y', 'e', 'r', 'X', 'Y'};
    errno = 17;
    const char *name = axp_name(text, 5);
    assert_string_equal(name, "layer");
    assert_ptr_equal(axp_name("layer of another", 5), name);
    assert_ptr_equal(axp_name("layer", 100), name); /* 0 ends it */
    assert_ptr_equal(axp_name(name, 5), name);
    assert_string_equal(axp_name(NULL, 5), "");
    assert_string_equal(axp_name("x", 0), "");
    assert_int_equal(errno, 17);
    axp_end(axp_begin(p, name));
    axp_start(p, "layer");
    axp_stop(p, name);
    assert_int_equal(ts_op(p, "layer").calls, 2);
    axp_profiler_destroy(p);
}

static void a_long_name_is_one_name(void **state)
{
    (void)state;
    static char text[10000];
    axp_profiler *p = ts_profiler();
    memset(text, 'n', sizeof text - 1);
    const char *name = axp_name(text, sizeof text);
    assert_int_equal(strlen(name), 4096);
    axp_end(axp_begin(p, text));
    axp_end(axp_begin(p, name));
    axp_end(axp_begin(p, axp_name(name, SIZE_MAX)));
    assert_int_equal(ts_op(p, name).calls, 3);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_any_size),
        cmocka_unit_test(a_size_that_is_none_is_refused),
        cmocka_unit_test(allocations_of_any_size),
        cmocka_unit_test(work_of_any_size),
        cmocka_unit_test(modules_of_any_size),
        cmocka_unit_test(what_reads_takes_any_size),
        cmocka_unit_test(lists_have_the_callers_stride),
        cmocka_unit_test(every_list_takes_a_size),
        cmocka_unit_test(later_values_of_enums_harm_nothing),
        cmocka_unit_test(tokens_of_any_caller),
        cmocka_unit_test(sites_take_work_of_any_size),
        cmocka_unit_test(names_have_a_length),
        cmocka_unit_test(a_long_name_is_one_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
