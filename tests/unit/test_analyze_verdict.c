/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The verdict: what it says of a run with a fault, of a healthy one, of one that
 * cannot be judged; and what it does with names. On a clock moved by hand. */
#include "test_support.h"

#include "axprof/axprof_adapter.h"

#define MS UINT64_C(1000000)

static void operation(axp_profiler *p, const char *name, axp_cat cat,
                      uint64_t ns)
{
    uint64_t scope = axp_begin(p, name);
    axp_category(p, cat);
    ts_tick(ns);
    axp_end(scope);
}

static void says(axp_profiler *p, const char *text)
{
    axp_view *v = ts_snapshot(p);
    axp_findings *f = axp_analyze(v, NULL);
    assert_non_null(f);
    assert_string_equal(axp_findings_verdict(f), text);
    axp_findings_destroy(f);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void what_to_change_first(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 10; i++) {
        operation(p, "load_batch", AXP_CAT_DATA, 22 * MS);
        operation(p, "matmul", AXP_CAT_FORWARD, 18 * MS);
        operation(p, "softmax", AXP_CAT_FORWARD, 16 * MS);
        operation(p, "gelu", AXP_CAT_FORWARD, 15 * MS);
        operation(p, "norm", AXP_CAT_FORWARD, 15 * MS);
        operation(p, "update", AXP_CAT_OPTIMIZER, 14 * MS);
        axp_step(p);
    }
    says(p,
         "22 % of the run is load_batch, 18 % matmul; doing load_batch ahead, "
         "beside the computing, gives back 22 %.");
}

static void a_bound_is_said_to_be_one(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    operation(p, "matmul", AXP_CAT_FORWARD, 97 * MS);
    operation(p, "update", AXP_CAT_OPTIMIZER, 3 * MS);
    says(p,
         "97 % of the run is matmul; a faster matmul gives back at most 97 %.");
}

static void nothing_to_gain(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e",
                                        "f", "g", "h", "i", "j"};
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 10; i++)
        operation(p, names[i], AXP_CAT_FORWARD, i ? 9800000 : 11800000);
    says(p,
         "Nothing to gain by more than 12 %: 12 % of the run is a. Looked at: "
         "10 operations.");
}

/* One that is Low, but may be worth something, is said as what it is. */
static void what_is_low(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e",
                                        "f", "g", "h", "i", "j"};
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 10; i++)
        operation(p, names[i], AXP_CAT_FORWARD, i ? 8650000 : 22150000);
    says(p,
         "22 % of the run is a; no finding is above Low: a faster a gives back "
         "at most 22 %.");
}

static void nothing_to_judge(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_instant(p, "here");
    axp_view *v = ts_snapshot(p);
    axp_findings *f = axp_analyze(v, NULL);
    assert_non_null(f);
    const char *text = axp_findings_verdict(f);
    assert_true(!strncmp(text, "Nothing could be judged: no scope,", 34));
    assert_non_null(strstr(text, "AXP_SCOPE")); /* what would change that */
    assert_non_null(strstr(text, "axp_global_open")); /* if it is marked */
    axp_findings_destroy(f);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
    assert_null(axp_findings_verdict(NULL));
}

/* That is no fault of the program's. */
static void what_could_not_be_recorded(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_outside_unrecorded(p, 1, "No space left on device");
    says(p,
         "Nothing could be judged: what the program did could not be recorded "
         "(No space left on device).");
}

static void memory_that_has_no_time(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    static char blocks[2];
    axp_track_alloc(p, "cache", &blocks[0], 900000000);
    axp_track_alloc(p, "rest", &blocks[1], 100000000);
    axp_track_free(p, &blocks[1]);
    axp_view *v = ts_snapshot(p);
    axp_findings *f = axp_analyze(v, NULL);
    assert_non_null(f);
    assert_non_null(strstr(axp_findings_verdict(f), "irst to change: "));
    assert_non_null(strstr(axp_findings_verdict(f), "cache"));
    axp_findings_destroy(f);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* 100 characters of two bytes: cut between two of them. */
static void long_names_are_cut(void **state)
{
    (void)state;
    char name[201] = "", text[400];
    for (int i = 0; i < 100; i++)
        memcpy(name + (size_t)2 * (size_t)i, "ä", 2);
    axp_profiler *p = ts_profiler();
    operation(p, name, AXP_CAT_FORWARD, 100 * MS);
    snprintf(text, sizeof text,
             "100 %% of the run is %.60s…; a faster %.60s… gives back at most "
             "100 %%.",
             name, name);
    says(p, text);
}

/* Of C++ what stands in brackets goes before what the function is called. */
static void arguments_give_way(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    operation(p,
              "void nn::Dense<float, std::allocator<float>, nn::Relu<float>>::"
              "forward(nn::Tensor<float> const&, nn::Tensor<float>&)",
              AXP_CAT_FORWARD, 97 * MS);
    operation(p, "update", AXP_CAT_OPTIMIZER, 3 * MS);
    says(p, "97 % of the run is void nn::Dense<…>::forward(…); a faster void "
            "nn::Dense<…>::forward(…) gives back at most 97 %.");
}

/* In Markdown a name stays a name, and in text it moves no cursor. */
static void names_are_escaped(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    char *text = NULL;
    size_t len = 0;
    operation(p, "a|b_<i>\033[2J", AXP_CAT_FORWARD, 100 * MS);
    axp_view *v = ts_snapshot(p);
    FILE *to = open_memstream(&text, &len);
    assert_int_equal(axp_report_write(v, AXP_FORMAT_MARKDOWN, to), AXP_OK);
    fclose(to);
    static const char escaped[] = "> 100 % of the run is a\\|b\\_\\<i\\>";
    assert_true(!strncmp(text, escaped, sizeof escaped - 1));
    assert_null(strchr(text, '\033'));
    free(text);
    to = open_memstream(&text, &len);
    assert_int_equal(axp_report_write(v, AXP_FORMAT_TEXT, to), AXP_OK);
    fclose(to);
    assert_true(!strncmp(text, "100 % of the run is a|b_<i>", 27));
    assert_null(strchr(text, '\033'));
    free(text);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_to_change_first),
        cmocka_unit_test(a_bound_is_said_to_be_one),
        cmocka_unit_test(nothing_to_gain),
        cmocka_unit_test(what_is_low),
        cmocka_unit_test(nothing_to_judge),
        cmocka_unit_test(what_could_not_be_recorded),
        cmocka_unit_test(memory_that_has_no_time),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(arguments_give_way),
        cmocka_unit_test(names_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
