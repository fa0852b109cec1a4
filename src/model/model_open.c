/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axp_open: files to a view. Several files are the processes of a run; that
 * they are is not checked: the caller named them. */
#include <stdlib.h>
#include <string.h>

#include "file/file_join.h"
#include "file/file_open.h"
#include "model/model_symbols.h"
#include "model/model_view.h"
#include "record/record_thread.h"

/* A recording that is counted twice is wrong without a sign of it: "*.axp"
 * where one is a packed copy of another. */
static axp_status check_once(const char *const *paths,
                             const struct axp__part *parts, size_t n)
{
    for (size_t i = 0; parts[n].id && i < n; i++)
        if (parts[i].id && !strcmp(parts[i].id, parts[n].id))
            return axp__fail(AXP_E_INVALID,
                             "%s and %s are the same recording; name it once",
                             paths[i], paths[n]);
    return AXP_OK;
}

axp_status axp_open(const char *const *paths, size_t n_paths, axp_view **out)
{
    if (!paths || !n_paths || !out)
        return axp__fail(AXP_E_INVALID, "axp_open needs paths and a place for "
                                        "the view");
    struct axp__part *parts = calloc(n_paths, sizeof *parts);
    axp_status status =
        parts ? AXP_OK : axp__fail(AXP_E_NO_MEMORY, "no memory to read files");
    size_t n = 0;
    for (; !status && n < n_paths; n++) {
        struct axp__opened o = {0};
        if (!paths[n])
            status = axp__fail(AXP_E_INVALID, "a path is NULL");
        else
            status = axp__trace_open(paths[n], &o);
        if (status) break;
        axp__model_name_functions(o.capture, &o.about);
        parts[n] = (struct axp__part){o.capture, &o.file->head,
                                      axp__about_text(&o.about, "id")};
        status = check_once(paths, parts, n);
    }
    if (status) {
        while (n--)
            parts[n].capture->release(parts[n].capture);
    } else {
        struct axp__capture *c = axp__join(parts, n);
        axp_view *v = c ? axp__view_make(c) : NULL;
        if (v)
            *out = v;
        else
            status = axp__fail(AXP_E_NO_MEMORY, "no memory for a view");
    }
    free(parts);
    return status;
}
