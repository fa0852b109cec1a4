/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names that the file may have, tried in turn; see symbol_module.h. */
#include "symbol/symbol_module.h"

#include <stdio.h>
#include <string.h>

#include "base/base_text.h"
#include "symbol/symbol_build_id.h"

/* What is looked for; and in a name of it where each text goes. */
struct module {
    const char *path, *name, *id;
    char *found; /* the name being tried */
};

static int try(const struct module *m, int len)
{
    if (len < 0 || len >= AXP__MODULE_PATH) return -1;
    return axp__module_open(m->found, m->id);
}

static int try_id(const struct module *m, const char *folder,
                  const char *ending)
{
    return try(m, snprintf(m->found, AXP__MODULE_PATH, "%s/.build-id/%.2s/%s%s",
                           folder, m->id, m->id + 2, ending));
}

static int try_name(const struct module *m, const char *folder,
                    const char *name, const char *ending)
{
    return try(m, snprintf(m->found, AXP__MODULE_PATH, "%s/%s%s", folder, name,
                           ending));
}

static int find_debug(const struct module *m, const char *folder)
{
    int fd = try_id(m, folder, ".debug");
    return fd >= 0 ? fd : try_name(m, folder, m->name, ".debug");
}

static int find_module(const struct module *m, const char *folder)
{
    int fd = try_id(m, folder, "");
    if (fd < 0) fd = try_name(m, folder, m->name, "");
    return fd >= 0 ? fd : try_name(m, folder, m->path + 1, "");
}

int axp__module_find(struct axp__folders folders, const char *path,
                     const char *build_id, char found[AXP__MODULE_PATH])
{
    struct module m = {path, axp__text_last_part(path), build_id, found};
    int fd = -1;
    if (path[0] != '/' || strstr(path, "/..") || strlen(build_id) < 3 ||
        build_id[strspn(build_id, "0123456789abcdef")])
        folders.n = 0;
    for (size_t i = 0; fd < 0 && i < folders.n; i++)
        fd = find_debug(&m, folders.at[i]);
    if (fd < 0) fd = try(&m, snprintf(found, AXP__MODULE_PATH, "%s", path));
    for (size_t i = 0; fd < 0 && i < folders.n; i++)
        fd = find_module(&m, folders.at[i]);
    return fd;
}

bool axp__module_is_system(const char *path)
{
    static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/",
                                          "/usr/lib64/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (!strncmp(path, folders[i], strlen(folders[i]))) return true;
    return false;
}
