/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every report of the six runs against its golden file, and the ways to write
 * one against each other. */
#include "golden/golden_compare.h"
#include "golden/golden_traces.h"

static const struct {
    axp_format format;
    const char *suffix;
} formats[] = {{AXP_FORMAT_TEXT, "txt"},
               {AXP_FORMAT_JSON, "json"},
               {AXP_FORMAT_MARKDOWN, "md"}};
#define N_FORMATS (sizeof formats / sizeof *formats)

static char *report(const axp_view *v, axp_format format, size_t *len)
{
    char *bytes = NULL;
    FILE *f = open_memstream(&bytes, len);
    assert_non_null(f);
    assert_int_equal(axp_report_write(v, format, f), AXP_OK);
    fclose(f);
    return bytes;
}

static void as_committed(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDEN_N; i++) {
        axp_view *v = golden_view(i);
        for (size_t k = 0; k < N_FORMATS; k++) {
            char path[512];
            size_t len;
            char *bytes = report(v, formats[k].format, &len);
            snprintf(path, sizeof path, "%s/report/%s.%s", GOLDEN_DIR,
                     golden_names[i], formats[k].suffix);
            golden_compare(path, bytes, len);
            free(bytes);
        }
        axp_view_destroy(v);
    }
}

/* A stream, options that are all zero, a file: the same bytes. */
static void the_same_whichever_way(void **state)
{
    (void)state;
    char path[] = "golden_report.XXXXXX";
    const axp_report_options zero = {0};
    close(mkstemp(path));
    axp_view *v = golden_view(2);
    for (size_t k = 0; k < N_FORMATS; k++) {
        size_t len, len_ex = 0, len_file;
        char *bytes = report(v, formats[k].format, &len), *ex = NULL;
        FILE *f = open_memstream(&ex, &len_ex);
        assert_int_equal(axp_report_write_ex(v, formats[k].format, &zero, f),
                         AXP_OK);
        fclose(f);
        assert_int_equal(axp_report_export(v, path, formats[k].format), AXP_OK);
        char *file = golden_read(path, &len_file);
        assert_int_equal(len, len_ex);
        assert_int_equal(len, len_file);
        assert_memory_equal(bytes, ex, len);
        assert_memory_equal(bytes, file, len);
        free(bytes);
        free(ex);
        free(file);
    }
    unlink(path);
    axp_view_destroy(v);
}

int main(void)
{
    golden_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_committed),
        cmocka_unit_test(the_same_whichever_way),
    };
    return TS_RUN(tests);
}
