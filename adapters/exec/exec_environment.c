/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Environments without adapters; see exec_environment.h. */
#include "exec_environment.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_STRINGS 65536u
#define MAX_TEXT (256u << 10)

extern char **environ;

/* ---- any ---------------------------------------------------------------- */

/* The kernel reads a set of signals before it finds that nobody can tell what is
 * to be done with it. `page` is the last one that could be read. */
static bool is_readable(const void *at, uintptr_t *page)
{
    uintptr_t word = (uintptr_t)at & ~(uintptr_t)7;
    if (word >> 12 == *page) return true;
    if (syscall(SYS_rt_sigprocmask, ~0, word, NULL, 8) && errno == EFAULT)
        return false;
    *page = word >> 12;
    return true;
}

/* What cannot be read is the kernel's to refuse: without us that is no crash. */
static bool is_whole(char *const *env)
{
    uintptr_t list = UINTPTR_MAX, text = UINTPTR_MAX;
    for (; is_readable(env, &list); env++) {
        if (!*env) return true;
        if (!is_readable(*env, &text)) return false;
    }
    return false;
}

static const char *value_of(char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; env && *env; env++)
        if (!strncmp(*env, name, len) && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

static bool is_listed(const char *list, const char *path, size_t len)
{
    while (*list) {
        size_t n = strcspn(list, ":");
        if (n == len && !strncmp(list, path, len)) return true;
        list += n + (list[n] == ':');
    }
    return false;
}

static bool has_ours(const char *preload, const char *ours)
{
    while (*preload) {
        size_t len = strcspn(preload, ": ");
        if (len && is_listed(ours, preload, len)) return true;
        preload += len + (preload[len] != 0);
    }
    return false;
}

/* LD_PRELOAD without what `ours` lists, also in its own place; false: nothing is
 * left of it. */
static bool shorten(char *to, const char *preload, const char *ours)
{
    memcpy(to, "LD_PRELOAD=", 11);
    char *begin = to += 11;
    while (*preload) {
        size_t len = strcspn(preload, ": ");
        if (len && !is_listed(ours, preload, len)) {
            if (to != begin) *to++ = ':';
            memmove(to, preload, len);
            to += len;
        }
        preload += len + (preload[len] != 0);
    }
    *to = 0;
    return to != begin;
}

size_t exec_environment_room(char *const *env, bool may_ask)
{
    const char *preload =
        !may_ask || is_whole(env) ? value_of(env, "LD_PRELOAD") : NULL;
    size_t n = 0;
    if (!preload || !value_of(env, "AXPROF_PRELOAD")) return 0;
    while (env[n])
        n++;
    size_t len = strlen(preload);
    if (n > MAX_STRINGS || len > MAX_TEXT) return 0;
    return (n + 1) * sizeof *env + len + 16;
}

char **exec_environment_without(char *const *env, void *room)
{
    char **out = room, *text;
    size_t n = 0, to = 0;
    while (env[n])
        n++;
    text = (char *)(out + n + 1);
    bool is_left = shorten(text, value_of(env, "LD_PRELOAD"),
                           value_of(env, "AXPROF_PRELOAD"));
    for (size_t i = 0; i < n; i++) {
        if (strncmp(env[i], "LD_PRELOAD=", 11) != 0)
            out[to++] = env[i];
        else if (is_left)
            out[to++] = text;
    }
    out[to] = NULL;
    return out;
}

/* ---- the process's own -------------------------------------------------- */

/* No longer than before. Nobody else has the text: it names files of the run. */
void exec_environment_shorten(void)
{
    const char *ours = value_of(environ, "AXPROF_PRELOAD");
    for (char **at = environ; ours && at && *at; at++)
        if (!strncmp(*at, "LD_PRELOAD=", 11) && has_ours(*at + 11, ours))
            shorten(*at, *at + 11, ours);
}
