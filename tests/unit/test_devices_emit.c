/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What reports, exports and findings say of devices. */
#include "device_support.h"

static void expect_in(char *text, const char *what)
{
    if (!strstr(text, what)) fail_msg("no %s in:\n%s", what, text);
    free(text);
}

/* A host and a device that do something of one name. */
static axp_view *view_of_both(axp_profiler *p)
{
    axp_track *t = track_on(p, "stream", "cuda:0");
    axp_ns now = 0;
    axp_start(p, "matmul");
    axp_flow_out(p, 77);
    now = axp_now(p);
    axp_record_alloc(p, "weights", 100);
    axp_stop(p, "matmul");
    axp_track_span_ex(t, &(axp_span){.name = "matmul",
                                     .begin = now + 1000,
                                     .end = now + 3000,
                                     .category = AXP_CAT_FORWARD,
                                     .flow = 77,
                                     .step = 3});
    axp_track_alloc_at(t, "weights", 1, 4096, now);
    return ts_snapshot(p);
}

static void reports_say_the_device(void **state)
{
    (void)state;
    size_t len;
    axp_profiler *p = ts_profiler();
    axp_view *v = view_of_both(p);
    expect_in(report_of(v, AXP_FORMAT_TEXT), "matmul on cuda:0 ");
    expect_in(report_of(v, AXP_FORMAT_TEXT), "weights on cuda:0 ");
    expect_in(report_of(v, AXP_FORMAT_TEXT), "stream on cuda:0 ");
    expect_in(report_of(v, AXP_FORMAT_TEXT), "\ncuda:0: peak 4.00 KB after ");
    expect_in(report_of(v, AXP_FORMAT_TEXT), "Memory Statistics: peak 100 B");
    expect_in(report_of(v, AXP_FORMAT_JSON), "\"device\": \"cuda:0\"");
    expect_in(report_of(v, AXP_FORMAT_JSON), "\"devices\": [");
    expect_in(report_of(v, AXP_FORMAT_MARKDOWN), "`matmul` on `cuda:0`");
    expect_in(report_of(v, AXP_FORMAT_MARKDOWN), "### Memory of `cuda:0`");
    expect_in(report_of(v, AXP_FORMAT_HTML), "\"matmul on cuda:0\"");
    expect_in(export_of(v, AXP_EXPORT_CSV_OPS, &len),
              "roof_threads,doubt_ns,device\n");
    expect_in(export_of(v, AXP_EXPORT_CSV_OPS, &len), "\"cuda:0\"\n");
    expect_in(export_of(v, AXP_EXPORT_FOLDED, &len), "matmul on cuda:0 2000\n");
    expect_in(export_of(v, AXP_EXPORT_SPEEDSCOPE, &len), "matmul on cuda:0");
    expect_in(export_of(v, AXP_EXPORT_OPENMETRICS, &len),
              "op=\"matmul\",device=\"cuda:0\"");
    expect_in(export_of(v, AXP_EXPORT_OPENMETRICS, &len),
              "memory_all_peak_bytes{device=\"cuda:0\"} 4096\n");
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void nothing_is_said_where_there_is_no_device(void **state)
{
    (void)state;
    size_t len;
    axp_profiler *p = ts_profiler();
    axp_track_span(axp_track_create(p, "queue"), "matmul", 1, 2, NULL);
    axp_record_alloc(p, "weights", 100);
    axp_view *v = ts_snapshot(p);
    for (int f = AXP_FORMAT_TEXT; f <= AXP_FORMAT_MARKDOWN; f++) {
        char *text = report_of(v, (axp_format)f);
        assert_null(strstr(text, "\"device\""));
        assert_null(strstr(text, "\"devices"));
        assert_null(strstr(text, "matmul on"));
        free(text);
    }
    expect_in(export_of(v, AXP_EXPORT_CSV_OPS, &len),
              ",roof_threads,doubt_ns\n");
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* The arrow begins in the scope and ends where the span begins. */
static void exports_draw_the_arrow_to_the_span(void **state)
{
    (void)state;
    size_t len, n_ends = 0, n_steps = 0;
    axp_profiler *p = ts_profiler();
    axp_view *v = view_of_both(p);
    axp_track_info t;
    axp_view_tracks(v, &t, 1);
    char *text = export_of(v, AXP_EXPORT_CHROME, &len), end[160];
    char *from = strstr(text, "{\"ph\":\"s\",\"cat\":\"flow\"");
    char *span = strstr(text, "\"cat\":\"kernel\",\"name\":\"matmul\",");
    assert_true(from && span);
    char *place = strstr(span, "\"pid\":"), *dur = strstr(span, ",\"dur\"");
    snprintf(end, sizeof end,
             "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"flow\",\"name\":"
             "\"flow\",\"id\":\"0:0x4d\",%.*s}",
             (int)(dur - place), place);
    if (!strstr(text, end)) fail_msg("no %s in:\n%s", end, text);
    assert_non_null(strstr(span, "\"device\":\"cuda:0\",\"category\":"
                                 "\"forward\",\"correlation\":77,\"step\":2"));
    free(text);
    text = export_of(v, AXP_EXPORT_PERFETTO, &len);
    static const char id[] = "\x81\x03\x4d\0\0\0\0\0\0"; /* field 48 */
    for (size_t i = 0; i + sizeof id <= len; i++)
        n_ends += !memcmp(text + i, id, sizeof id - 1);
    assert_int_equal(n_ends, 1);
    static const char step[] = "\x08\x0f\x18\x02"; /* annotation 15: 2 */
    for (size_t i = 0; i + sizeof step <= len; i++)
        n_steps += !memcmp(text + i, step, sizeof step - 1);
    assert_int_equal(n_steps, 1);
    free(text);
    expect_in(report_of(v, AXP_FORMAT_HTML),
              "\"kind\":\"flows\",\"columns\":2,\"n\":1");
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void findings_are_about_one_domain(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = track_on(p, "stream", "cuda:0");
    for (unsigned i = 0; i < 200; i++) {
        axp_record_alloc(p, "host's", 1000);
        axp_record_free(p, "host's", 1000);
        axp_track_alloc_at(t, "leaked", i, 5, i);
    }
    axp_view *v = ts_snapshot(p);
    axp_findings *f = axp_analyze(v, NULL);
    size_t n_leaks = 0;
    for (size_t i = 0; i < axp_findings_count(f); i++) {
        const axp_finding *x = axp_findings_at(f, i);
        if (x->type != AXP_MEMORY_LEAK) continue;
        n_leaks++;
        assert_string_equal(x->name, "leaked");
        assert_string_equal(x->device, "cuda:0");
    }
    assert_int_equal(n_leaks, 1);
    axp_findings_destroy(f);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_say_the_device),
        cmocka_unit_test(nothing_is_said_where_there_is_no_device),
        cmocka_unit_test(exports_draw_the_arrow_to_the_span),
        cmocka_unit_test(findings_are_about_one_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
