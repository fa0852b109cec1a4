/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every export of the six runs against its golden file. That of pprof is kept
 * unpacked: how well gzip packs is zlib's affair. test_export_readers.py reads
 * the same files with readers that are not ours. */
#include "golden/golden_compare.h"
#include "golden/golden_traces.h"

#include <zlib.h>

static char *export(const axp_view *v, axp_export_format format, size_t *len)
{
    char *bytes = NULL;
    FILE *f = open_memstream(&bytes, len);
    assert_non_null(f);
    assert_int_equal(axp_export_write(v, format, f), AXP_OK);
    fclose(f);
    return bytes;
}

static char *unpack(char *packed, size_t *len)
{
    size_t cap = 1u << 20;
    char *bytes = malloc(cap);
    z_stream z = {.next_in = (Bytef *)packed,
                  .avail_in = (uInt)*len,
                  .next_out = (Bytef *)bytes,
                  .avail_out = (uInt)cap};
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK); /* gzip alone */
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    *len = z.total_out;
    inflateEnd(&z);
    free(packed);
    return bytes;
}

static void as_committed(void **state)
{
    (void)state;
    size_t n = 0;
    for (size_t i = 0; i < GOLDEN_N; i++) {
        axp_view *v = golden_view(i);
        for (int k = 0; axp_export_format_name((axp_export_format)k, NULL);
             k++, n++) {
            char path[512];
            size_t len;
            char *bytes = export(v, (axp_export_format)k, &len);
            if (k >= AXP_EXPORT_FOLDED_PEAK &&
                k <= AXP_EXPORT_FOLDED_TEMPORARY) {
                /* none has a heap */
                assert_int_equal(len, 0);
                free(bytes);
                n--;
                continue;
            }
            if (k == AXP_EXPORT_PPROF) bytes = unpack(bytes, &len);
            snprintf(path, sizeof path, "%s/export/%s.%s", GOLDEN_DIR,
                     golden_names[i],
                     axp_export_format_name((axp_export_format)k, NULL));
            golden_compare(path, bytes, len);
            free(bytes);
        }
        axp_view_destroy(v);
    }
    assert_int_equal(n, 66);
}

static void a_file_has_the_same_bytes(void **state)
{
    (void)state;
    char path[] = "golden_export.XXXXXX";
    close(mkstemp(path));
    axp_view *v = golden_view(3);
    for (int k = 0; axp_export_format_name((axp_export_format)k, NULL); k++) {
        size_t len, len_file;
        char *bytes = export(v, (axp_export_format)k, &len);
        assert_int_equal(axp_export(v, path, (axp_export_format)k), AXP_OK);
        char *file = golden_read(path, &len_file);
        assert_int_equal(len, len_file);
        assert_memory_equal(bytes, file, len);
        free(bytes);
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
        cmocka_unit_test(a_file_has_the_same_bytes),
    };
    return TS_RUN(tests);
}
