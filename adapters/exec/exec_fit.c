/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading the headers of programs. */
#include "exec_fit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPT_DEPTH 4
#define LINE_BYTES 256

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

struct image {
    const unsigned char *bytes;
    size_t size;
};

static const void *at(const struct image *m, uint64_t offset, uint64_t len)
{
    if (offset > m->size || len > m->size - offset) return NULL;
    return m->bytes + offset;
}

static bool has_text(const struct image *m, uint64_t offset, const char *text)
{
    const char *found = at(m, offset, strlen(text));
    return found && !memcmp(found, text, strlen(text));
}

struct tables {
    const ElfW(Phdr) * segment;
    unsigned n;
};

static uint64_t offset_of(const struct tables *t, uint64_t address)
{
    for (unsigned i = 0; i < t->n; i++)
        if (t->segment[i].p_type == PT_LOAD &&
            address >= t->segment[i].p_vaddr &&
            address - t->segment[i].p_vaddr < t->segment[i].p_filesz)
            return address - t->segment[i].p_vaddr + t->segment[i].p_offset;
    return UINT64_MAX;
}

/* Does it need a library that must be the first? */
static bool has_sanitizer(const struct image *m, const struct tables *t,
                          const ElfW(Phdr) * dynamic)
{
    size_t n = dynamic->p_filesz / sizeof(ElfW(Dyn));
    const ElfW(Dyn) *d = at(m, dynamic->p_offset, n * sizeof *d);
    uint64_t strings = UINT64_MAX;
    for (size_t i = 0; d && i < n && d[i].d_tag != DT_NULL; i++)
        if (d[i].d_tag == DT_STRTAB) strings = offset_of(t, d[i].d_un.d_ptr);
    if (strings == UINT64_MAX) return false;
    for (size_t i = 0; i < n && d[i].d_tag != DT_NULL; i++) {
        uint64_t name = strings + d[i].d_un.d_val;
        if (d[i].d_tag == DT_NEEDED && (has_text(m, name, "libasan.so") ||
                                        has_text(m, name, "libtsan.so") ||
                                        has_text(m, name, "liblsan.so")))
            return true;
    }
    return false;
}

static bool fits(const struct image *m)
{
    const ElfW(Ehdr) *head = at(m, 0, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return true;
    if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != MACHINE)
        return false;
    if (head->e_phentsize != sizeof(ElfW(Phdr))) return true;
    struct tables t = {.n = head->e_phnum};
    t.segment = at(m, head->e_phoff, t.n * sizeof *t.segment);
    for (unsigned i = 0; t.segment && i < t.n; i++) {
        const ElfW(Phdr) *p = &t.segment[i];
        const char *loader =
            p->p_type == PT_INTERP ? at(m, p->p_offset, p->p_filesz) : NULL;
        if (loader && memmem(loader, p->p_filesz, "ld-musl", 7)) return false;
        if (p->p_type == PT_DYNAMIC && has_sanitizer(m, &t, p)) return false;
    }
    return true;
}

/* The interpreter that a #! line names, into line; NULL: no such line. */
static const char *interpreter_of(const struct image *m, char *line)
{
    size_t n = m->size < LINE_BYTES - 1 ? m->size : LINE_BYTES - 1;
    if (n < 3 || memcmp(m->bytes, "#!", 2) != 0) return NULL;
    memcpy(line, m->bytes, n);
    line[n] = 0;
    line[strcspn(line, "\n")] = 0;
    line += 2 + strspn(line + 2, " \t");
    line[strcspn(line, " \t")] = 0;
    return *line ? line : NULL;
}

static bool fits_deep(int fd, int depth)
{
    struct stat st;
    char line[LINE_BYTES];
    const char *next = NULL;
    bool is_fit = true;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size) return true;
    struct image m = {.size = (size_t)st.st_size};
    void *bytes = mmap(NULL, m.size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) return true;
    m.bytes = bytes;
    if (depth < SCRIPT_DEPTH) next = interpreter_of(&m, line);
    if (!next) is_fit = fits(&m);
    munmap(bytes, m.size);
    if (!next) return is_fit;
    int inner = open(next, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (inner < 0) return true;
    is_fit = fits_deep(inner, depth + 1);
    close(inner);
    return is_fit;
}

bool exec_fits_fd(int fd)
{
    int error = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    bool is_fit = fits_deep(fd, 0);
    pthread_setcancelstate(cancel, NULL);
    errno = error;
    return is_fit;
}

bool exec_fits(int folder, const char *path)
{
    int error = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_fit = fd < 0 || fits_deep(fd, 0);
    if (fd >= 0) close(fd);
    pthread_setcancelstate(cancel, NULL);
    errno = error;
    return is_fit;
}
