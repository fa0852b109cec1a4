/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Traces that older versions wrote, on both architectures, give today what
 * they gave then: the dump of each view is beside it.
 *
 *   test_compat FOLDER [--update]
 */
#include "file_support.h"

#include "view_dump.h"

static const char *folder;
static bool is_updating;

static void compare_with(const char *name)
{
    char path[512], text_path[512];
    snprintf(path, sizeof path, "%s/%s.axp", folder, name);
    snprintf(text_path, sizeof text_path, "%s/%s.txt", folder, name);
    axp_view *v = fs_open(path);
    char *dump = vd_dump(v, false);
    if (is_updating) fs_write(text_path, dump, strlen(dump));
    size_t len;
    char *want = (char *)fs_read(text_path, &len);
    want[len] = 0;
    assert_true(len > 1000);
    assert_true(vd_same(want, dump));
    free(want);
    free(dump);
    axp_view_destroy(v);
    fs_assert_sound(path);
}

static void version_1_of_aarch64(void **state)
{
    (void)state;
    compare_with("v1-aarch64");
}

static void version_1_of_x86_64(void **state)
{
    (void)state;
    compare_with("v1-x86_64");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_1_of_aarch64),
        cmocka_unit_test(version_1_of_x86_64),
    };
    if (argc < 2) return 2;
    folder = argv[1];
    is_updating = argc > 2 && !strcmp(argv[2], "--update");
    return TS_RUN(tests);
}
