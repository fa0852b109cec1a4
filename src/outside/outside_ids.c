/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ids of other namespaces; see outside_ids.h. */
#include "outside/outside_ids.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base_bytes.h"
#include "os/os_clock.h"
#include "os/os_namespace.h"

#define SLOTS 1024u
#define NONE UINT32_MAX
#define SHARE 100u
#define LEAST_NS 5000000u
#define MOST_NS 1000000000u

struct known { /* a thread that was there at the last look */
    uint32_t tid, look, next;
};

struct axp__ids {
    uint64_t name_space;
    uint32_t inner, outer; /* of the process */
    struct axp__id *found;
    size_t n, cap;
    struct known *known;
    uint32_t n_known;
    size_t cap_known;
    uint32_t slot[SLOTS], n_looks;
    uint32_t newest[SLOTS]; /* of found, by inner number; … */
    uint32_t *older;        /* … of each, the one before it in its slot */
    size_t cap_older;
    uint64_t due_ns, wait_ns;
    uint64_t looked_ticks; /* when the last look began */
};

struct axp__ids *axp__ids_create(uint64_t name_space, uint32_t inner)
{
    struct axp__ids *ids = calloc(1, sizeof *ids);
    if (!ids) return NULL;
    ids->name_space = name_space;
    ids->inner = inner;
    for (size_t i = 0; i < SLOTS; i++)
        ids->slot[i] = ids->newest[i] = NONE;
    return ids;
}

void axp__ids_destroy(struct axp__ids *ids)
{
    if (!ids) return;
    free(ids->found);
    free(ids->older);
    free(ids->known);
    free(ids);
}

/* ---- what the kernel says ------------------------------------------------ */

/* "NSpid:	5017	17": from the outermost namespace that one may see inwards. */
uint32_t axp__ids_inner(uint32_t pid, uint32_t tid)
{
    static const char name[] = "\nNSpid:";
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%lu/task/%lu/status", (unsigned long)pid,
             (unsigned long)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    char *at = strstr(text, name), *end;
    unsigned long last = 0;
    if (!at) return 0;
    at += sizeof name - 1;
    for (; *at == '\t' || *at == ' '; at = end) {
        unsigned long number = strtoul(at, &end, 10);
        if (end == at) break;
        last = number;
    }
    return last <= UINT32_MAX ? (uint32_t)last : 0;
}

static uint32_t number_of(const struct dirent *e)
{
    if (e->d_name[0] < '1' || e->d_name[0] > '9') return 0;
    return (uint32_t)strtoul(e->d_name, NULL, 10);
}

/* How many of those that are not found yet it is. */
static size_t match(struct axp__ids *const *all, size_t n, uint32_t pid)
{
    uint64_t name_space = axp__pid_namespace(pid);
    uint32_t inner = 0;
    size_t n_found = 0;
    for (size_t i = 0; i < n && name_space; i++) {
        if (all[i]->outer || all[i]->name_space != name_space) continue;
        if (!inner) inner = axp__ids_inner(pid, pid);
        if (!inner) return n_found;
        if (inner != all[i]->inner) continue;
        all[i]->outer = pid;
        n_found++;
    }
    return n_found;
}

void axp__ids_find(struct axp__ids *const *all, size_t n)
{
    size_t n_left = 0;
    for (size_t i = 0; i < n; i++)
        n_left += !all[i]->outer;
    DIR *proc = n_left ? opendir("/proc") : NULL;
    for (const struct dirent *e; proc && n_left && (e = readdir(proc));) {
        uint32_t pid = number_of(e);
        if (pid) n_left -= match(all, n, pid);
    }
    if (proc) closedir(proc);
}

/* ---- threads ------------------------------------------------------------- */

static struct known *find_known(const struct axp__ids *ids, uint32_t tid)
{
    uint32_t at = ids->slot[tid % SLOTS];
    while (at != NONE && ids->known[at].tid != tid)
        at = ids->known[at].next;
    return at == NONE ? NULL : &ids->known[at];
}

/* With room for one more; NULL: there is no memory, and they are as they were. */
static void *grow(void *items, size_t *cap, size_t n, size_t size)
{
    if (n < *cap) return items;
    size_t wider = *cap ? 2 * *cap : 64;
    void *fresh = realloc(items, wider * size);
    if (fresh) *cap = wider;
    return fresh;
}

/* NULL: no room. */
static struct known *add_known(struct axp__ids *ids, uint32_t tid)
{
    if (ids->n_known == AXP__IDS_MOST) return NULL;
    struct known *known =
        grow(ids->known, &ids->cap_known, ids->n_known, sizeof *known);
    if (!known) return NULL;
    ids->known = known;
    uint32_t *slot = &ids->slot[tid % SLOTS];
    ids->known[ids->n_known] = (struct known){.tid = tid, .next = *slot};
    *slot = ids->n_known++;
    return &ids->known[*slot];
}

/* False: there is no room. */
static bool add_found(struct axp__ids *ids, uint32_t inner, uint32_t tid)
{
    uint32_t *slot = &ids->newest[inner % SLOTS];
    if (ids->n == AXP__IDS_MOST) return false;
    struct axp__id *found = grow(ids->found, &ids->cap, ids->n, sizeof *found);
    if (found) ids->found = found;
    uint32_t *older = grow(ids->older, &ids->cap_older, ids->n, sizeof *older);
    if (older) ids->older = older;
    if (!found || !older) return false;
    found[ids->n] = (struct axp__id){inner, tid, ids->looked_ticks};
    older[ids->n] = *slot;
    *slot = (uint32_t)ids->n++;
    return true;
}

/* One that was there at the last look is the same still. */
static void see(struct axp__ids *ids, uint32_t tid)
{
    struct known *k = find_known(ids, tid);
    bool is_same = k && k->look + 1 == ids->n_looks;
    if (!is_same) {
        uint32_t inner = axp__ids_inner(ids->outer, tid);
        if (!k && inner) k = add_known(ids, tid);
        if (!k || !inner || !add_found(ids, inner, tid)) return;
    }
    k->look = ids->n_looks;
}

/* Its number may be another process's by now. */
static void look_at_threads(struct axp__ids *ids)
{
    char path[48];
    uint64_t now = axp__clock_now();
    if (axp__pid_namespace(ids->outer) != ids->name_space) return;
    snprintf(path, sizeof path, "/proc/%lu/task", (unsigned long)ids->outer);
    DIR *folder = opendir(path);
    ids->n_looks++;
    for (const struct dirent *e; folder && (e = readdir(folder));) {
        uint32_t tid = number_of(e);
        if (tid) see(ids, tid);
    }
    if (folder) closedir(folder);
    ids->looked_ticks = now;
}

size_t axp__ids_look(struct axp__ids *ids, bool is_urgent)
{
    uint64_t begin = axp__clock_of(CLOCK_MONOTONIC);
    size_t before = ids->n;
    if (begin < ids->due_ns && !is_urgent) return 0;
    axp__ids_find(&ids, 1);
    if (ids->outer) look_at_threads(ids);
    uint64_t took = axp__clock_of(CLOCK_MONOTONIC) - begin;
    /* Who is not found was too quick for us, or is not there to be seen. */
    ids->wait_ns = ids->outer ? LEAST_NS : 2 * ids->wait_ns + LEAST_NS;
    if (ids->wait_ns < took * SHARE) ids->wait_ns = took * SHARE;
    if (ids->wait_ns > MOST_NS) ids->wait_ns = MOST_NS;
    ids->due_ns = begin + ids->wait_ns;
    return ids->n - before;
}

/* ---- what was found ------------------------------------------------------ */

uint32_t axp__ids_process(const struct axp__ids *ids)
{
    return ids->outer;
}

const struct axp__id *axp__ids_list(const struct axp__ids *ids, size_t *n)
{
    *n = ids->n;
    return ids->found;
}

uint32_t axp__ids_thread(const struct axp__ids *ids, uint32_t inner)
{
    uint32_t at = ids->newest[inner % SLOTS];
    while (at != NONE && ids->found[at].inner != inner)
        at = ids->older[at];
    return at == NONE ? 0 : ids->found[at].outer;
}
