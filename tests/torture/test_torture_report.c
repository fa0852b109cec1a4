/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Each allocation of an analysis and of every report fails in turn, and the call
 * says so. */
#include "golden/golden_traces.h"

#include "test_support.h"
#include "torture/torture_alloc.h"

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
    return is_failing() ? NULL : __real_strdup(text);
}

static const char *const ignore[] = {"slow_operation:nobody"};
static const axp_thresholds thresholds = {.ignore = ignore, .n_ignore = 1};
static const axp_report_options options = {.thresholds = &thresholds};

/* With the nth allocation failing; 0: none. Returns how many there were. */
static uint64_t run(size_t trace, axp_format format, uint64_t nth, char **text,
                    axp_status *status)
{
    size_t len;
    axp_view *v = golden_view(trace); /* which keeps what was made of it */
    FILE *f = open_memstream(text, &len);
    assert_non_null(f);
    torture.nth = nth;
    torture.n_calls = 0;
    torture.is_armed = true;
    *status = axp_report_write_ex(v, format, &options, f);
    torture.is_armed = false;
    axp_view_destroy(v);
    fclose(f);
    return torture.n_calls;
}

static void every_allocation(void **state)
{
    (void)state;
    uint64_t n_failed = 0;
    for (size_t i = 0; i < GOLDEN_N; i++) {
        for (int k = AXP_FORMAT_TEXT; k <= AXP_FORMAT_HTML; k++) {
            char *whole, *part;
            axp_status status;
            uint64_t n = run(i, (axp_format)k, 0, &whole, &status);
            assert_int_equal(status, AXP_OK);
            for (uint64_t nth = 1; nth <= n; nth++, n_failed++) {
                run(i, (axp_format)k, nth, &part, &status);
                /* the timeline goes on without the work of a scope */
                if (k == AXP_FORMAT_HTML && status == AXP_OK) {
                    free(part);
                    continue;
                }
                if (status != AXP_E_NO_MEMORY)
                    fail_msg("%s, format %d, allocation %d: status %d",
                             golden_names[i], k, (int)nth, (int)status);
                assert_non_null(strstr(axp_last_error(), "memory"));
                free(part);
            }
            free(whole);
        }
    }
    print_message("%d allocations failed\n", (int)n_failed);
    assert_true(n_failed > 500);
}

int main(void)
{
    golden_init();
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation)};
    return TS_RUN(tests);
}
