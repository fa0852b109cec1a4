/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Notes of an ELF file; see symbol_build_id.h. */
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

static bool read_at(int fd, void *to, size_t n, uint64_t at)
{
    return pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* Whether a note is the build id, and is this one. */
static bool is_id(const ElfW(Nhdr) * note, const char *name, const char *desc,
                  const char *build_id)
{
    if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 ||
        memcmp(name, "GNU", 4) != 0 || note->n_descsz > MOST_ID ||
        strlen(build_id) != 2 * (size_t)note->n_descsz)
        return false;
    for (uint32_t i = 0; i < note->n_descsz; i++) {
        char hex[3];
        snprintf(hex, sizeof hex, "%02x", (unsigned char)desc[i]);
        if (memcmp(hex, build_id + 2 * i, 2) != 0) return false;
    }
    return true;
}

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
        if (is_id(&note, notes + name, notes + desc, build_id)) return true;
        at = desc + (((size_t)note.n_descsz + 3) & ~(size_t)3);
        if (at > n) return false;
    }
    return false;
}

struct looked_for {
    int fd;
    const char *build_id;
    char *notes; /* of MOST_NOTES bytes */
};

static bool is_in(const struct looked_for *l, uint64_t at, uint64_t n)
{
    return n <= MOST_NOTES && read_at(l->fd, l->notes, n, at) &&
           find_id(l->notes, n, l->build_id);
}

static bool is_in_segments(const struct looked_for *l, const ElfW(Ehdr) * head)
{
    ElfW(Phdr) p;
    if (head->e_phentsize != sizeof p || head->e_phnum > MOST_HEADERS)
        return false;
    for (unsigned i = 0; i < head->e_phnum; i++) {
        if (!read_at(l->fd, &p, sizeof p, head->e_phoff + i * sizeof p)) break;
        if (p.p_type == PT_NOTE && is_in(l, p.p_offset, p.p_filesz))
            return true;
    }
    return false;
}

static bool is_in_sections(const struct looked_for *l, const ElfW(Ehdr) * head)
{
    ElfW(Shdr) s;
    if (head->e_shentsize != sizeof s || head->e_shnum > MOST_HEADERS)
        return false;
    for (unsigned i = 0; i < head->e_shnum; i++) {
        if (!read_at(l->fd, &s, sizeof s, head->e_shoff + i * sizeof s)) break;
        if (s.sh_type == SHT_NOTE && is_in(l, s.sh_offset, s.sh_size))
            return true;
    }
    return false;
}

static bool has_id(int fd, const char *build_id)
{
    ElfW(Ehdr) head;
    struct looked_for l = {fd, build_id, malloc(MOST_NOTES)};
    bool found = l.notes && read_at(fd, &head, sizeof head, 0) &&
                 !memcmp(head.e_ident, ELFMAG, SELFMAG) &&
                 (is_in_segments(&l, &head) || is_in_sections(&l, &head));
    free(l.notes);
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
