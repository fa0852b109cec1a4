/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Notes and headers of an ELF file; see symbol_build_id.h. */
#include "symbol/symbol_build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_HEADERS 256u
#define MOST_NOTES 65536u
#define MOST_ID 64u
_Static_assert(MOST_NOTES >= AXP__MADE_ID_FRAME, "one buffer for both");

struct file {
    int fd;
    ElfW(Ehdr) head;
    ElfW(Phdr) part[MOST_HEADERS];
    unsigned n_parts; /* 0: none, or not all of them can be read */
    char bytes[MOST_NOTES];
};

static bool read_at(int fd, void *to, size_t n, uint64_t at)
{
    return pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* malloc'd; NULL: no memory, or no ELF file. */
static struct file *read_headers(int fd)
{
    struct file *f = malloc(sizeof *f);
    if (!f || !read_at(fd, &f->head, sizeof f->head, 0) ||
        memcmp(f->head.e_ident, ELFMAG, SELFMAG) != 0) {
        free(f);
        return NULL;
    }
    unsigned n = f->head.e_phnum;
    f->fd = fd;
    f->n_parts =
        f->head.e_phentsize == sizeof *f->part && n <= MOST_HEADERS &&
                read_at(fd, f->part, n * sizeof *f->part, f->head.e_phoff)
            ? n
            : 0;
    return f;
}

/* ---- build ids ---------------------------------------------------------- */

static bool is_same(const char *id, size_t n, const char *build_id)
{
    if (n > MOST_ID || strlen(build_id) != 2 * n) return false;
    for (size_t i = 0; i < n; i++) {
        char hex[3];
        snprintf(hex, sizeof hex, "%02x", (unsigned char)id[i]);
        if (memcmp(hex, build_id + 2 * i, 2) != 0) return false;
    }
    return true;
}

/* This one, or if it is NULL any. */
static bool find_id(const char *notes, size_t n, const char *build_id)
{
    size_t at = 0;
    while (n - at > sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        size_t name = at + sizeof note;
        size_t desc = name + (((size_t)note.n_namesz + 3) & ~(size_t)3);
        if (note.n_namesz > n || desc > n || note.n_descsz > n - desc)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            !memcmp(notes + name, "GNU", 4) &&
            (!build_id || is_same(notes + desc, note.n_descsz, build_id)))
            return true;
        at = desc + (((size_t)note.n_descsz + 3) & ~(size_t)3);
        if (at > n) return false;
    }
    return false;
}

/* Notes that cannot be looked through may have any, but not this one. */
static bool is_in(struct file *f, uint64_t at, uint64_t n, const char *build_id)
{
    if (n > MOST_NOTES || !read_at(f->fd, f->bytes, n, at)) return !build_id;
    return find_id(f->bytes, n, build_id);
}

static bool is_in_segments(struct file *f, const char *build_id)
{
    for (unsigned i = 0; i < f->n_parts; i++)
        if (f->part[i].p_type == PT_NOTE &&
            is_in(f, f->part[i].p_offset, f->part[i].p_filesz, build_id))
            return true;
    return false;
}

static bool is_in_sections(struct file *f, const char *build_id)
{
    const ElfW(Ehdr) *head = &f->head;
    ElfW(Shdr) s;
    if (head->e_shentsize != sizeof s || head->e_shnum > MOST_HEADERS)
        return false;
    for (unsigned i = 0; i < head->e_shnum; i++) {
        if (!read_at(f->fd, &s, sizeof s, head->e_shoff + i * sizeof s)) break;
        if (s.sh_type == SHT_NOTE && is_in(f, s.sh_offset, s.sh_size, build_id))
            return true;
    }
    return false;
}

/* ---- those that are made ------------------------------------------------ */

/* As of what is loaded, which has no sections: what its segments have no build
 * id for is made. */
static bool make_id(struct file *f, char out[AXP__MADE_ID])
{
    struct axp__made_from from = {&f->head, f->part, f->n_parts, f->bytes, 0};
    if (!f->n_parts || is_in_segments(f, NULL)) return false;
    const ElfW(Phdr) *frame =
        axp__made_id_frame(f->part, f->n_parts, &from.n_frame);
    if (frame && !read_at(f->fd, f->bytes, from.n_frame, frame->p_offset))
        return false;
    axp__made_id(&from, out);
    return true;
}

bool axp__module_make_id(int fd, char out[AXP__MADE_ID])
{
    struct file *f = read_headers(fd);
    bool ok = f && make_id(f, out);
    free(f);
    return ok;
}

/* ---- files -------------------------------------------------------------- */

static bool has_id(int fd, const char *build_id)
{
    char made[AXP__MADE_ID];
    struct file *f = read_headers(fd);
    bool found =
        f && (is_in_segments(f, build_id) || is_in_sections(f, build_id) ||
              (make_id(f, made) && !strcmp(made, build_id)));
    free(f);
    return found;
}

/* A regular file, open for reading; -1: there is none. O_NONBLOCK: a FIFO is not
 * waited for, and O_NOCTTY: no terminal is taken, before it is known what it is. */
static int open_regular(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode))) return fd;
    close(fd);
    return -1;
}

int axp__module_open(const char *path, const char *build_id)
{
    int fd = open_regular(path);
    if (fd < 0 || has_id(fd, build_id)) return fd;
    close(fd);
    return -1;
}

bool axp__module_is_other(const char *path, const char *build_id)
{
    int fd = open_regular(path);
    bool is_other = fd >= 0 && !has_id(fd, build_id);
    if (fd >= 0) close(fd);
    return is_other;
}
