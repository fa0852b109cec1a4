/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The objects that this process has loaded, with their ids; os_about.h.
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
#include "os/os_made_id.h"
#include "os/os_map.h"

#define BUILD_ID_MAX ((AXP__ABOUT_ID - 1) / 2)
#define HEADERS_MAX 64u
#define BYTES_MAX AXP__MADE_ID_FRAME /* of notes, too */
#define HEADERS_BYTES 4096u          /* in which the first headers are */

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

struct object {
    pid_t pid;             /* 0: this process */
    uint64_t begin, bytes; /* of the mapping of its file's beginning */
    uint64_t first, last;  /* as its headers count */
    uint64_t bias;
    ElfW(Ehdr) head;
    ElfW(Phdr) part[HEADERS_MAX];
    unsigned n_parts;
    char id[AXP__ABOUT_ID];
};

/* Whether there is a build id in some notes, and if it is not too long, in
 * hexadecimal. */
static bool find_build_id(const char *at, size_t bytes, char *out)
{
    const char *end = at + bytes;
    while ((size_t)(end - at) > sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        size_t rest = (size_t)(end - at) - sizeof note;
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        if (name > rest || note.n_descsz > rest - name) return false;
        const char *id = at + sizeof note + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            !memcmp(at + sizeof note, "GNU", 4)) {
            for (unsigned k = 0;
                 note.n_descsz <= BUILD_ID_MAX && k < note.n_descsz; k++)
                snprintf(out + 2 * k, 3, "%02x", (unsigned char)id[k]);
            return true;
        }
        at = id + (((size_t)note.n_descsz + 3) & ~(size_t)3);
        if (at > end) return false;
    }
    return false;
}

static bool copy(const struct object *o, void *to, uint64_t from, size_t n)
{
    const char *at = (const char *)(uintptr_t)from;
    if (!o->pid) return axp__copy_mapped(to, at, n);
    struct iovec here = {to, n}, there = {(void *)(uintptr_t)from, n};
    return process_vm_readv(o->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static bool read_headers(struct object *o)
{
    ElfW(Ehdr) *head = &o->head;
    if (o->bytes < sizeof *head || !copy(o, head, o->begin, sizeof *head) ||
        memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_phentsize != sizeof *o->part || head->e_phnum > HEADERS_MAX ||
        head->e_phoff > o->bytes - head->e_phnum * sizeof *o->part)
        return false;
    o->n_parts = head->e_phnum;
    return copy(o, o->part, o->begin + head->e_phoff,
                o->n_parts * sizeof *o->part);
}

static bool set_place(struct object *o)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    o->first = UINT64_MAX;
    o->last = 0;
    for (unsigned i = 0; i < o->n_parts; i++) {
        const ElfW(Phdr) *part = &o->part[i];
        if (part->p_type != PT_LOAD) continue;
        if (part->p_vaddr < o->first) o->first = part->p_vaddr;
        if (part->p_vaddr + part->p_memsz > o->last)
            o->last = part->p_vaddr + part->p_memsz;
    }
    o->bias = o->begin - (o->first & ~(page - 1));
    return o->first < o->last;
}

/* None where the table of functions is not in what is loaded. */
static bool make_id(struct object *o, char bytes[BYTES_MAX])
{
    struct axp__made_from from = {&o->head, o->part, o->n_parts, bytes, 0};
    const ElfW(Phdr) *frame =
        axp__made_id_frame(o->part, o->n_parts, &from.n_frame);
    if (frame && (frame->p_vaddr < o->first || frame->p_vaddr > o->last ||
                  from.n_frame > o->last - frame->p_vaddr))
        return true;
    if (frame && !copy(o, bytes, o->bias + frame->p_vaddr, from.n_frame))
        return false;
    axp__made_id(&from, o->id);
    return true;
}

/* "-" if it has none that can be known; false: it cannot be read any more. An
 * object that goes, or whose process ends, must not be told as one without an
 * id: that would be another one, at the same place. Nor is one made for what may
 * have a build id: whoever reads its file sees that alone. */
static bool read_id(struct object *o)
{
    char bytes[BYTES_MAX];
    bool is_searched = true;
    memcpy(o->id, "-", 2);
    for (unsigned i = 0; i < o->n_parts; i++) {
        const ElfW(Phdr) *part = &o->part[i];
        if (part->p_type != PT_NOTE) continue;
        if (part->p_memsz > sizeof bytes) {
            is_searched = false;
            continue;
        }
        if (!copy(o, bytes, o->bias + part->p_vaddr, part->p_memsz))
            return false;
        if (find_build_id(bytes, part->p_memsz, o->id)) return true;
    }
    return !is_searched || make_id(o, bytes);
}

void axp__about_id(uint64_t address, char out[AXP__ABOUT_ID])
{
    struct object o = {.begin = address, .bytes = HEADERS_BYTES};
    bool is_there = read_headers(&o) && set_place(&o) && read_id(&o);
    memcpy(out, is_there ? o.id : "-", is_there ? sizeof o.id : 2);
}

static struct object object_of(const struct list *l)
{
    return (struct object){.pid = l->pid,
                           .begin = l->now.begin,
                           .bytes = l->now.end - l->now.begin};
}

/* Whether an object has a segment in its file's first page that is mapped there:
 * lld leaves no room between segments, so that those of a short program share
 * pages, and each maps the first one again. */
static bool has_first_page_at(const struct list *l, uint64_t address)
{
    struct object o = object_of(l);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (!read_headers(&o) || !set_place(&o)) return false;
    for (unsigned i = 0; i < o.n_parts; i++)
        if (o.part[i].p_type == PT_LOAD && o.part[i].p_offset < page &&
            o.bias + (o.part[i].p_vaddr & ~(page - 1)) == address)
            return true;
    return false;
}

static void tell_object(struct list *l)
{
    char key[24], text[PATH_MAX + 160];
    struct object o = object_of(l);
    if (!read_headers(&o) || !set_place(&o) || !read_id(&o)) return;
    snprintf(key, sizeof key, "map.%u", l->n++);
    int len = snprintf(text, sizeof text, "%llx %llx %llx %s %s",
                       (unsigned long long)o.bias,
                       (unsigned long long)o.bias + o.first,
                       (unsigned long long)o.bias + o.last, o.id, l->now.path);
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
    bool is_more = m.inode == l->now.inode && !strcmp(m.path, l->now.path) &&
                   (m.offset || (m.is_code && has_first_page_at(l, m.begin)));
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
