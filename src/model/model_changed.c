/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Modules of all processes, each once, beside what lies there; see
 * model_changed.h. */
#include "model/model_changed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/model_slots.h"
#include "symbol/symbol_build_id.h"

#define MOST_FILES 4096u /* a recording may claim any number */

struct seen {
    const struct axp__cap_module **at;
    size_t n, cap;
    uint64_t n_changed;
    const char *first; /* which is the program's, if that has changed */
};

static bool is_seen(const struct seen *s, const struct axp__cap_module *m)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->at[i]->path, m->path) &&
            !strcmp(s->at[i]->build_id, m->build_id))
            return true;
    return false;
}

/* What `axprof run` loads is in no stack. */
static bool is_own(const char *path)
{
    return !strncmp(strrchr(path, '/') + 1, "libaxprof", 9);
}

static bool is_changed(const struct axp__cap_module *m,
                       struct axp__folders folders)
{
    char found[AXP__MODULE_PATH];
    int fd = axp__module_find(folders, m->path, m->build_id, found);
    if (fd >= 0) close(fd);
    return fd < 0 && axp__module_is_other(m->path, m->build_id);
}

static bool look_at(struct seen *s, const struct axp__cap_module *m,
                    struct axp__folders folders)
{
    void *at = s->at;
    if (!m->build_id || m->path[0] != '/' || s->n >= MOST_FILES ||
        is_own(m->path) || is_seen(s, m))
        return true;
    bool ok = axp__array_grow(&at, &s->cap, s->n + 1, sizeof *s->at);
    s->at = at;
    if (!ok) return false;
    s->at[s->n++] = m;
    if (!is_changed(m, folders)) return true;
    if (!s->n_changed++) s->first = m->path;
    return true;
}

bool axp__view_warn_of_changed(axp_view *v, struct axp__folders folders)
{
    static const char *const texts[] = {
        "files that were changed since they were recorded, or are another "
        "machine's: their functions have no names here; --symbols finds them "
        "in copies of what they were",
        "a file that was changed since it was recorded, or is another "
        "machine's: its functions have no names here; --symbols finds them in "
        "a copy of what it was"};
    const struct axp__capture *c = v->capture;
    size_t n_parts = c->n_processes ? c->n_processes : 1;
    struct seen s = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < n_parts; i++) {
        const struct axp__capture *part = axp__cap_part(c, i);
        for (size_t k = 0; ok && k < part->n_modules; k++)
            ok = look_at(&s, &part->modules[k], folders);
    }
    free((void *)s.at);
    if (!ok || !s.n_changed) return ok;
    return axp__view_warn(v,
                          &(axp_warning){"changed_files", s.first, s.n_changed,
                                         texts[s.n_changed == 1]});
}
