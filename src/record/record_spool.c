/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Spools: their files and their log of names; see record_spool.h. */
#include "record/record_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "base/base_atomic.h"
#include "os/os_cgroup.h"
#include "os/os_file.h"
#include "record/record_name.h"
#include "record/record_process.h"
#include "record/record_thread.h"

#define CGROUP_PART 20
#define LEAST_BYTES ((uint64_t)1 << 20)
#define CLOSE_TRIES 10000 /* a second, and then nobody waits any more */
#define CLOSE_PAUSE_NS 100000
#define LEAST_SHM_BYTES ((uint64_t)8 << 20)

/* ---- limits --------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t axp__spool_limit(uint64_t asked)
{
    struct rlimit file;
    uint64_t limit = least(asked, axp__cgroup_memory() / CGROUP_PART);
    if (!getrlimit(RLIMIT_FSIZE, &file) && file.rlim_cur != RLIM_INFINITY)
        limit =
            least(limit, file.rlim_cur / 2); /* accumulators lie there too */
    return limit > LEAST_BYTES ? limit : LEAST_BYTES;
}

/* ---- the file -------------------------------------------------------------------- */

/* In less a timeline would be cut at once: then rather on the disk. */
static bool is_shm_large(void)
{
    struct statfs fs;
    return !statfs("/dev/shm", &fs) &&
           (uint64_t)fs.f_bavail * (uint64_t)fs.f_frsize >= LEAST_SHM_BYTES;
}

static struct axp__space *create_at(const char *path, const uint8_t id[16],
                                    uint64_t limit_bytes)
{
    int fd = axp__fd_open(
        path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return NULL;
    struct axp__space *s = axp__space_create(fd, path, limit_bytes, id);
    int reason = errno;
    axp__fd_close(fd);
    if (!s) (void)unlink(path);
    errno = reason;
    return s;
}

struct axp__space *axp__spool_create(const uint8_t id[16], uint64_t limit_bytes,
                                     char *path, size_t size)
{
    char hex[33];
    for (int i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    snprintf(path, size, AXP__SPOOL_PREFIX "%s" AXP__SPOOL_SUFFIX, hex);
    return is_shm_large() ? create_at(path, id, limit_bytes) : NULL;
}

struct axp__space *axp__spool_create_beside(const char *trace,
                                            const uint8_t id[16],
                                            uint64_t limit_bytes, char *path,
                                            size_t size)
{
    if ((size_t)snprintf(path, size, "%s" AXP__SPOOL_SUFFIX, trace) < size)
        return create_at(path, id, limit_bytes);
    errno = ENAMETOOLONG;
    return NULL;
}

void axp__spool_remove(const struct axp__space *s)
{
    const char *path = (const char *)(uintptr_t)s->path;
    struct stat st;
    if (!lstat(path, &st) && (uint64_t)st.st_dev == s->device &&
        (uint64_t)st.st_ino == s->inode)
        (void)unlink(path);
}

void axp__spool_set_owner(struct axp__space *s, const char *trace)
{
    if (strlen(trace) < sizeof s->owner) strcpy(s->owner, trace);
}

/* ---- names -------------------------------------------------------------------------- */

static struct axp__spool_names *names_of(struct axp__space *s)
{
    return (struct axp__spool_names *)(uintptr_t)axp__get_acquire(
        &s->root[AXP__ROOT_NAMES]);
}

static struct axp__spool_name *new_record(struct axp__space *s, uint32_t bytes)
{
    for (;;) {
        struct axp__spool_names *b = names_of(s);
        if (b) {
            uint64_t at = axp__add(&b->used, bytes);
            if (at + bytes <= sizeof b->bytes)
                return (struct axp__spool_name *)(void *)(b->bytes + at);
        }
        struct axp__spool_names *fresh =
            axp__space_map(s, AXP__EXTENT_NAMES, sizeof *fresh);
        if (!fresh) return NULL;
        uint64_t older = (uintptr_t)b;
        fresh->older = older;
        axp__cas(&s->root[AXP__ROOT_NAMES], &older, (uintptr_t)fresh);
    }
}

static void log_name(struct axp__space *s, uint32_t id)
{
    const struct axp__name *n = axp__name_ready(id);
    if (!n) return; /* who registers it finds the spool, or nobody knows it */
    const char *file = axp__name_file(n);
    uint32_t file_len = file ? (uint32_t)strlen(file) : 0;
    uint32_t bytes =
        ((uint32_t)sizeof(struct axp__spool_name) + n->len + file_len + 7) &
        ~7u;
    struct axp__spool_name *r = new_record(s, bytes);
    if (!r) return;
    r->bytes = bytes;
    r->text_len = n->len;
    r->file_len = file_len;
    r->line = file ? n->line : 0;
    r->flags = n->flags;
    memcpy(r + 1, n->text, n->len);
    if (file_len) memcpy((char *)(r + 1) + n->len, file, file_len);
    axp__put_release(&r->id, id);
}

/* Either this finds a name that is being registered, or the one who registers
 * it finds the spool: both look after a full fence. */
bool axp__spool_open_names(struct axp__space *s)
{
    struct axp__process *process = axp__process();
    int i = 0;
    for (; i < AXP__MAX_SPOOLS; i++) {
        struct axp__space *none = NULL;
        if (axp__cas(&process->spools[i], &none, s)) break;
    }
    if (i == AXP__MAX_SPOOLS) return false;
    axp__add(&process->n_spools, 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (uint32_t id = AXP__NAME_UNNAMED + 1; id < axp__name_count(); id++)
        log_name(s, id);
    return true;
}

bool axp__spool_close_names(struct axp__space *s)
{
    struct axp__process *process = axp__process();
    int tries = CLOSE_TRIES;
    for (int i = 0; i < AXP__MAX_SPOOLS; i++) {
        if (axp__get(&process->spools[i]) != s) continue;
        axp__put(&process->spools[i], NULL);
        axp__add(&process->n_spools, -1);
    }
    /* Whoever found it before this is done with it after this. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    while (axp__thread_is_any_at(AXP__LOGGING, process) && --tries)
        nanosleep(&(struct timespec){0, CLOSE_PAUSE_NS}, NULL);
    return tries;
}

void axp__spool_add_name(uint32_t id)
{
    struct axp__process *process = axp__process();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!axp__get(&process->n_spools)) return;
    int keep = errno;
    struct axp__thread *t = axp__thread_get();
    if (!t) return; /* no memory: nor will it record anything */
    const void *before = axp__thread_set_errand(t, AXP__LOGGING, process);
    for (int i = 0; i < AXP__MAX_SPOOLS; i++) {
        struct axp__space *s = axp__get_acquire(&process->spools[i]);
        if (s) log_name(s, id);
    }
    axp__thread_set_errand(t, AXP__LOGGING, before);
    errno = keep;
}
