/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Preloaded into a program that records to AXPROF_OUT: when it ends, finishes
 * the recording and compares what the live profiler gives with what its file
 * gives, and with what check says. Ends the process with 3 if they differ. */
#include <axprof/axprof_file.h>
#include <unistd.h>

#include "view_dump.h"

static void compare(void)
{
    const char *path = getenv("AXPROF_OUT");
    axp_view *live = NULL, *file = NULL;
    bool ok = path && axp_finish(axp_global()) == AXP_OK &&
              (live = axp_snapshot(axp_global())) != NULL &&
              axp_open(&path, 1, &file) == AXP_OK;
    if (ok) {
        char *a = vd_dump(live, true), *b = vd_dump(file, true);
        ok = strlen(a) > 5000 && vd_same(a, b) &&
             axp_file_check(path, stderr) == AXP_OK;
        fprintf(stderr, "identity: %zu bytes of dump, %s\n", strlen(a),
                ok ? "the same" : axp_last_error());
        free(a);
        free(b);
    } else {
        fprintf(stderr, "identity: %s\n", axp_last_error());
    }
    axp_view_destroy(live);
    axp_view_destroy(file);
    fflush(NULL);
    if (!ok) _exit(3);
}

static __attribute__((constructor)) void begin(void)
{
    atexit(compare);
}
