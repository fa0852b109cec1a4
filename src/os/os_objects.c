/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The objects that this process has loaded, with their build ids; os_about.h.
 *
 * From the kernel's list of mappings, and not from the loader's: that one is
 * behind a lock which a thread may hold that waits for us, and which stays
 * locked in the child of a fork. An object is what is mapped from its file's
 * beginning on, with code in it, and begins as ELF does; it may be unloaded
 * meanwhile, so it is read as what may not be there. Another process's is read
 * the same way, by whoever may look into it. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/os_about.h"
#include "os/os_file.h"
#include "os/os_map.h"

#define BUILD_ID_MAX 32u
#define HEADERS_MAX 64u
#define NOTES_MAX 1024u

struct mapping { /* a line of the list, or several of one file */
    uint64_t begin, end, offset, inode, device;
    bool is_code;
    char path[PATH_MAX];
};

struct list {
    pid_t pid; /* 0: this process */
    const struct stat *wanted;
    bool is_found; /* that file is mapped */
    axp__about_fn put;
    void *ctx;
    unsigned n;
    bool is_done;
    struct mapping now;
};

/* ---- one object ------------------------------------------------------------------ */

/* The build id in some notes, in hexadecimal. */
static void find_build_id(const char *at, size_t bytes,
                          char out[2 * BUILD_ID_MAX + 1])
{
    const char *end = at + bytes;
    while ((size_t)(end - at) > sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        size_t rest = (size_t)(end - at) - sizeof note;
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        if (name > rest || note.n_descsz > rest - name) return;
        const char *id = at + sizeof note + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            !memcmp(at + sizeof note, "GNU", 4) &&
            note.n_descsz <= BUILD_ID_MAX) {
            for (unsigned k = 0; k < note.n_descsz; k++)
                snprintf(out + 2 * k, 3, "%02x", (unsigned char)id[k]);
            return;
        }
        at = id + (((size_t)note.n_descsz + 3) & ~(size_t)3);
        if (at > end) return;
    }
}

static bool copy(const struct list *l, void *to, uint64_t from, size_t n)
{
    const char *at = (const char *)(uintptr_t)from;
    if (!l->pid) return axp__copy_mapped(to, at, n);
    struct iovec here = {to, n}, there = {(void *)(uintptr_t)from, n};
    return process_vm_readv(l->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static bool read_headers(const struct list *l, ElfW(Phdr) * to, unsigned *n)
{
    const struct mapping *m = &l->now;
    ElfW(Ehdr) head;
    if (m->end - m->begin < sizeof head ||
        !copy(l, &head, m->begin, sizeof head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_phentsize != sizeof *to || head.e_phnum > HEADERS_MAX ||
        head.e_phoff > m->end - m->begin - head.e_phnum * sizeof *to)
        return false;
    *n = head.e_phnum;
    return copy(l, to, m->begin + head.e_phoff, *n * sizeof *to);
}

/* "-" if it has none; false: it cannot be read any more. An object that goes,
 * or whose process ends, must not be told as one without a build id: that would
 * be another one, at the same place. */
static bool read_build_id(const struct list *l, const ElfW(Phdr) * part,
                          unsigned n, uint64_t bias,
                          char id[2 * BUILD_ID_MAX + 1])
{
    char notes[NOTES_MAX];
    memcpy(id, "-", 2);
    for (unsigned i = 0; i < n && id[0] == '-'; i++) {
        if (part[i].p_type != PT_NOTE || part[i].p_memsz > NOTES_MAX) continue;
        if (!copy(l, notes, bias + part[i].p_vaddr, part[i].p_memsz))
            return false;
        find_build_id(notes, part[i].p_memsz, id);
    }
    return true;
}

static void tell_object(struct list *l)
{
    ElfW(Phdr) part[HEADERS_MAX];
    char key[24], id[2 * BUILD_ID_MAX + 1];
    char text[PATH_MAX + 160];
    uint64_t first = UINT64_MAX, last = 0;
    unsigned n = 0;
    if (!read_headers(l, part, &n)) return;
    for (unsigned i = 0; i < n; i++) {
        if (part[i].p_type != PT_LOAD) continue;
        if (part[i].p_vaddr < first) first = part[i].p_vaddr;
        if (part[i].p_vaddr + part[i].p_memsz > last)
            last = part[i].p_vaddr + part[i].p_memsz;
    }
    if (first >= last) return;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t bias = l->now.begin - (first & ~(page - 1));
    if (!read_build_id(l, part, n, bias, id)) return;
    snprintf(key, sizeof key, "map.%u", l->n++);
    int len =
        snprintf(text, sizeof text, "%llx %llx %llx %s %s",
                 (unsigned long long)bias, (unsigned long long)bias + first,
                 (unsigned long long)bias + last, id, l->now.path);
    l->is_done = !l->put(l->ctx, key, text, (size_t)len);
}

/* ---- the list --------------------------------------------------------------------- */

static uint64_t number(const char **at, unsigned base)
{
    uint64_t n = 0;
    for (;; ++*at) {
        unsigned c = (unsigned char)**at;
        unsigned digit = c >= '0' && c <= '9'   ? c - '0'
                         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                : 16;
        if (digit >= base) return n;
        n = n * base + digit;
    }
}

/* "begin-end perms offset device inode   path" */
static struct mapping parse(const char *line)
{
    struct mapping m = {0};
    m.begin = number(&line, 16);
    if (*line == '-') line++;
    m.end = number(&line, 16);
    line += strspn(line, " ");
    m.is_code = memchr(line, 'x', strcspn(line, " ")) != NULL;
    line += strcspn(line, " ");
    line += strspn(line, " ");
    m.offset = number(&line, 16);
    line += strspn(line, " ");
    uint64_t major = number(&line, 16);
    if (*line == ':') line++;
    m.device = makedev((unsigned)major, (unsigned)number(&line, 16));
    line += strspn(line, " ");
    m.inode = number(&line, 10);
    line += strspn(line, " ");
    if (*line == '/') snprintf(m.path, sizeof m.path, "%s", line);
    return m;
}

static void take_line(struct list *l, const char *line)
{
    struct mapping m = parse(line);
    if (l->wanted && m.inode == (uint64_t)l->wanted->st_ino &&
        m.device == (uint64_t)l->wanted->st_dev)
        l->is_found = true;
    bool is_more =
        m.offset && m.inode == l->now.inode && !strcmp(m.path, l->now.path);
    if (is_more) {
        l->now.is_code |= m.is_code;
        return;
    }
    if (l->now.path[0] && l->now.is_code && !l->is_done) tell_object(l);
    l->now = m;
    if (m.offset) l->now.path[0] = 0;
}

static void read_list(struct list *l, const char *path)
{
    char text[2 * PATH_MAX];
    size_t have = 0;
    int keep = errno;
    int fd = axp__fd_open(path, O_RDONLY | O_CLOEXEC, 0);
    while (fd >= 0 && !l->is_done) {
        ssize_t n = axp__fd_read(fd, text + have, sizeof text - 1 - have);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        have += (size_t)n;
        text[have] = 0;
        char *line = text, *end;
        for (; (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            take_line(l, line);
        }
        have -= (size_t)(line - text);
        memmove(text, line, have);
        if (have == sizeof text - 1) have = 0; /* no line is so long */
    }
    take_line(l, ""); /* the last one */
    if (fd >= 0) axp__fd_close(fd);
    errno = keep;
}

void axp__about_maps(axp__about_fn put, void *ctx)
{
    struct list l = {.put = put, .ctx = ctx};
    read_list(&l, "/proc/self/maps");
}

bool axp__about_maps_of(uint64_t pid, const struct stat *file,
                        axp__about_fn put, void *ctx)
{
    struct list l = {.pid = (pid_t)pid, .wanted = file, .put = put, .ctx = ctx};
    char path[48];
    if (!pid || pid > INT_MAX) return false;
    snprintf(path, sizeof path, "/proc/%llu/maps", (unsigned long long)pid);
    read_list(&l, path);
    return l.is_found;
}
