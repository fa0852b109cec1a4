/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding, choosing and listing adapters. */
#include "cli/cli_adapter.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_say.h"

#ifndef AXP_LIBDIR
#error "AXP_LIBDIR: where libraries are, from the folder of the command"
#endif

const cli_adapter cli_adapters[] = {
#define ADAPTER(name, is_default, variable, text)                              \
    {#name, is_default, variable, text},
#include "cli/cli_adapter.def"
    {NULL, false, NULL, NULL}};
const size_t cli_n_adapters = sizeof cli_adapters / sizeof *cli_adapters - 1;

/* The folder that the command itself is in; caller frees. */
static char *own_folder(void)
{
    char *self = realpath("/proc/self/exe", NULL);
    char *slash = self ? strrchr(self, '/') : NULL;
    if (slash) *slash = 0;
    return self;
}

static char *path_of(const char *name, const char **why)
{
    static const char *const places[] = {"../" AXP_LIBDIR "/axprof",
                                         "../adapters"};
    char *folder = own_folder(), *found = NULL;
    for (size_t i = 0; folder && !found && i < 2; i++) {
        char *path =
            cli_format("%s/%s/libaxprof_%s.so", folder, places[i], name);
        found = realpath(path, NULL);
        free(path);
    }
    free(folder);
    if (why) *why = "not installed";
    if (!found || !strpbrk(found, ": ")) return found;
    if (why)
        *why = "its folder's name has a space or a colon, where the loader "
               "splits LD_PRELOAD";
    free(found);
    return NULL;
}

char *cli_adapter_path(const cli_adapter *adapter, const char **why)
{
    return path_of(adapter->name, why);
}

bool cli_adapter_is_first(const char *path, size_t len)
{
    static const char end[] = "/libaxprof_memory_new.so";
    return len >= strlen(end) &&
           !strncmp(path + len - strlen(end), end, strlen(end));
}

static bool is_named(const cli_args *args, cli_option_id option,
                     const char *name)
{
    for (size_t i = 0; i < args->n_given; i++)
        if (args->given[i].option == option &&
            !strcmp(args->given[i].value, name))
            return true;
    return false;
}

static bool is_wanted(const cli_args *args, const cli_adapter *adapter)
{
    if (is_named(args, OPT_run_without, adapter->name) ||
        is_named(args, OPT_run_without, "all"))
        return is_named(args, OPT_run_with, adapter->name) &&
               !is_named(args, OPT_run_without, adapter->name);
    return adapter->is_default || is_named(args, OPT_run_with, adapter->name);
}

static int check_names(const cli_args *args)
{
    for (size_t i = 0; i < args->n_given; i++) {
        const char *name = args->given[i].value;
        cli_option_id option = args->given[i].option;
        bool is_known = option == OPT_run_without &&
                        (!strcmp(name, "all") || !strcmp(name, "machine"));
        if (option != OPT_run_with && option != OPT_run_without) continue;
        for (size_t k = 0; k < cli_n_adapters; k++)
            if (!strcmp(name, cli_adapters[k].name)) is_known = true;
        if (is_known) continue;
        const char *near = cli_nearest(name, &cli_adapters[0].name,
                                       cli_n_adapters, sizeof *cli_adapters);
        return near ? cli_wrong("no adapter \"%s\"; did you mean %s?", name,
                                near)
                    : cli_wrong("no adapter \"%s\"; \"axprof run --list\" "
                                "says which there are",
                                name);
    }
    return CLI_OK;
}

int cli_adapter_choose(const cli_args *args, bool has_new, char **out)
{
    char *list = NULL;
    int rc = check_names(args);
    if (rc != CLI_OK) return rc;
    for (size_t i = 0; i < cli_n_adapters; i++) {
        if (!is_wanted(args, &cli_adapters[i]) || cli_adapters[i].variable)
            continue;
        const char *why;
        const char *name = cli_adapters[i].name;
        bool is_other = has_new && !strcmp(name, "memory");
        char *path = path_of(is_other ? "memory_new" : name, &why);
        if (!path && is_named(args, OPT_run_with, name)) {
            free(list);
            return cli_wrong("the adapter \"%s\" cannot be loaded: %s", name,
                             why);
        }
        if (!path) continue;
        char *longer =
            list ? cli_format("%s:%s", list, path) : cli_format("%s", path);
        free(list);
        free(path);
        list = longer;
    }
    *out = list;
    return CLI_OK;
}

char *cli_adapter_entry(const cli_args *args, const cli_adapter *adapter)
{
    if (!adapter->variable || !is_wanted(args, adapter) ||
        getenv(adapter->variable))
        return NULL;
    char *path = cli_adapter_path(adapter, NULL);
    char *entry = path ? cli_format("%s=%s", adapter->variable, path) : NULL;
    free(path);
    return entry;
}

char *cli_adapter_when_needed(const cli_args *args, const char *name)
{
    if (is_named(args, OPT_run_without, name) ||
        is_named(args, OPT_run_without, "all"))
        return NULL;
    for (size_t i = 0; i < cli_n_adapters; i++)
        if (!strcmp(cli_adapters[i].name, name))
            return cli_adapter_path(&cli_adapters[i], NULL);
    return NULL;
}

int cli_adapter_list(const cli_args *args)
{
    int rc = check_names(args);
    if (rc != CLI_OK) return rc;
    for (size_t i = 0; i < cli_n_adapters; i++) {
        const cli_adapter *a = &cli_adapters[i];
        const char *why;
        char *path = cli_adapter_path(a, &why);
        printf("%-10s %-4s %s%s%s%s\n", a->name,
               path && is_wanted(args, a) ? "on" : "off", a->text,
               path ? "" : " (", path ? "" : why, path ? "" : ")");
        free(path);
    }
    return CLI_OK;
}
