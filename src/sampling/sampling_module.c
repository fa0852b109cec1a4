/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Modules of a run; see sampling_module.h. */
#include "sampling/sampling_module.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "axprof/axprof.h"
#include "base/base_text.h"
#include "sampling/sampling_cfi.h"
#include "symbol/symbol_build_id.h"
#include "tally/tally_capture.h"

#define FIRST_PLACE ((uint64_t)1 << 20)
#define PLACE_ROUND ((uint64_t)1 << 20)
#define UNKNOWN_BYTES ((uint64_t)1 << 47) /* of what is no ELF file */
#define MOST_BYTES ((uint64_t)1 << 40)    /* that one may claim */
#define MOST_HEADERS 256u
#define MOST_NOTES 65536u
#define VDSO_MOST 65536u
#define ANONYMOUS "[anonymous code]"

void axp__mods_init(struct axp__mods *m)
{
    *m = (struct axp__mods){.next = FIRST_PLACE};
}

static void free_mod(struct axp__mod *mod)
{
    axp__cfi_close(mod->cfi);
    if (mod->fd > 0) close(mod->fd - 1);
    free(mod->found);
    free(mod->bytes);
    free(mod->path);
    free(mod);
}

void axp__mods_fini(struct axp__mods *m)
{
    for (size_t i = 0; i < sizeof m->slot / sizeof *m->slot; i++)
        for (struct axp__mod *mod = m->slot[i], *next; mod; mod = next) {
            next = mod->next;
            free_mod(mod);
        }
    for (size_t i = 0; i < m->n_own; i++)
        free(m->own[i]);
    free(m->own);
    axp__mods_init(m);
}

/* ---- our own ------------------------------------------------------------ */

/* A path that is not there is no module's. */
static void add_own(struct axp__mods *m, const char *path)
{
    char *real = realpath(path, NULL);
    if (real) m->own[m->n_own++] = real;
}

bool axp__mods_set_own(struct axp__mods *m, const char *const *paths, size_t n)
{
    Dl_info rt;
    axp_profiler *(*of_rt)(void) = axp_global;
    void *at;
    memcpy(&at, &of_rt, sizeof at);
    m->own = calloc(n + 1, sizeof *m->own);
    if (!m->own) return false;
    for (size_t i = 0; i < n; i++)
        add_own(m, paths[i]);
    if (dladdr(at, &rt) && rt.dli_fname) add_own(m, rt.dli_fname);
    return true;
}

static bool has_scope_open(const char *path)
{
    static const char *const files[] = {
        "libaxprof_blas.so", "libaxprof_dnnl.so", "libaxprof_openmp.so"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!strcmp(axp__text_last_part(path), files[i])) return true;
    return false;
}

const char *axp__mods_own_name(const struct axp__mods *m,
                               const struct axp__mod *mod)
{
    for (size_t i = 0; i < m->n_own; i++)
        if (!strcmp(m->own[i], mod->path))
            return has_scope_open(mod->path) ? AXP__OWN_CALLS : AXP__OWN_CODE;
    return NULL;
}

/* ---- one of them -------------------------------------------------------- */

/* All code that has no file is one module; some memory is called like one. */
static const char *path_of(const struct axp__perf_mapping *mapping)
{
    static const char *const memory[] = {"//anon", "/memfd:", "/dev/zero",
                                         "/SYSV", "/anon_hugepage"};
    const char *path = mapping->path;
    if (!strcmp(path, "[vdso]")) return path;
    if (path[0] != '/') return ANONYMOUS;
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (!strncmp(path, memory[i], strlen(memory[i]))) return ANONYMOUS;
    return path;
}

static struct axp__mod *find(struct axp__mods *m, const char *path,
                             uint64_t device, uint64_t inode,
                             uint64_t generation)
{
    uint64_t k = axp__mix64(device ^ axp__mix64(inode)) & 1023;
    struct axp__mod *mod = m->slot[k];
    while (mod &&
           (mod->device != device || mod->inode != inode ||
            mod->generation != generation || strcmp(mod->path, path) != 0))
        mod = mod->next;
    if (mod) return mod;
    mod = calloc(1, sizeof *mod);
    if (!mod) return NULL;
    mod->path = strdup(path);
    if (!mod->path) {
        free(mod);
        return NULL;
    }
    mod->device = device;
    mod->inode = inode;
    mod->generation = generation;
    mod->next = m->slot[k];
    m->slot[k] = mod;
    m->n++;
    return mod;
}

struct axp__mod *axp__mods_get(struct axp__mods *m,
                               const struct axp__perf_mapping *mapping)
{
    const char *path = path_of(mapping);
    return path[0] == '/' ? find(m, path, mapping->device, mapping->inode,
                                 mapping->generation)
                          : find(m, path, 0, 0, 0);
}

bool axp__mod_is_anonymous(const struct axp__mod *mod)
{
    return !strcmp(mod->path, ANONYMOUS);
}

struct axp__mod *axp__mods_get_jit(struct axp__mods *m,
                                   const struct axp__jit_code *code)
{
    return find(m, code->path, code->first, code->bytes, 0);
}

/* ---- what its headers say ----------------------------------------------- */

/* A file, or bytes in memory. */
struct image {
    int fd;
    const char *bytes;
    size_t n;
};

static bool read_at(const struct image *i, void *to, size_t n, uint64_t at)
{
    if (!i->bytes) return pread(i->fd, to, n, (off_t)at) == (ssize_t)n;
    if (at > i->n || n > i->n - at) return false;
    memcpy(to, i->bytes + at, n);
    return true;
}

static void set_build_id(struct axp__mod *mod, const char *notes, size_t n)
{
    ElfW(Nhdr) note;
    for (size_t at = 0; n - at > sizeof note;) {
        memcpy(&note, notes + at, sizeof note);
        size_t name = at + sizeof note;
        size_t desc = name + (((size_t)note.n_namesz + 3) & ~(size_t)3);
        if (note.n_namesz > n || desc > n || note.n_descsz > n - desc) return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            !memcmp(notes + name, "GNU", 4) &&
            note.n_descsz <= AXP__MODULE_ID) {
            for (uint32_t i = 0; i < note.n_descsz; i++)
                snprintf(mod->build_id + 2 * i, 3, "%02x",
                         (unsigned char)notes[desc + i]);
            return;
        }
        at = desc + (((size_t)note.n_descsz + 3) & ~(size_t)3);
        if (at > n) return;
    }
}

static void read_notes(struct axp__mod *mod, const struct image *image,
                       const ElfW(Phdr) * p)
{
    if (mod->build_id[0] || p->p_filesz > MOST_NOTES) return;
    char *notes = malloc((size_t)p->p_filesz + 1);
    if (notes && read_at(image, notes, (size_t)p->p_filesz, p->p_offset))
        set_build_id(mod, notes, (size_t)p->p_filesz);
    free(notes);
}

static void add_load(struct axp__mod *mod, const ElfW(Phdr) * p)
{
    if (mod->n_loads == AXP__MODULE_LOADS || p->p_vaddr > MOST_BYTES ||
        p->p_memsz > MOST_BYTES)
        return;
    mod->load[mod->n_loads].offset = p->p_offset;
    mod->load[mod->n_loads].bytes = p->p_filesz;
    mod->load[mod->n_loads++].address = p->p_vaddr;
    if (p->p_vaddr < mod->low) mod->low = p->p_vaddr;
    if (p->p_vaddr + p->p_memsz > mod->high)
        mod->high = p->p_vaddr + p->p_memsz;
}

static bool read_headers(struct axp__mod *mod, const struct image *image)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) p;
    if (!read_at(image, &head, sizeof head, 0) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof p ||
        head.e_phnum > MOST_HEADERS)
        return false;
    mod->low = UINT64_MAX;
    mod->high = 0;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        if (!read_at(image, &p, sizeof p, head.e_phoff + i * sizeof p)) break;
        if (p.p_type == PT_LOAD) add_load(mod, &p);
        if (p.p_type == PT_NOTE) read_notes(mod, image, &p);
    }
    return mod->n_loads;
}

static int open_regular(const char *path, uint64_t *inode)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -1;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
        *inode = st.st_ino;
        return fd;
    }
    close(fd);
    return -1;
}

/* As that process sees it, which may have another root, or, if it is gone, as
 * this one does; the one that is the file that was mapped, if one is. */
static int open_file(const struct axp__mod *mod, uint32_t pid)
{
    char theirs[64 + 4096];
    uint64_t inode;
    snprintf(theirs, sizeof theirs, "/proc/%lu/root%s", (unsigned long)pid,
             mod->path);
    int fd = open_regular(theirs, &inode);
    if (fd >= 0 && inode == mod->inode) return fd;
    int own = open_regular(mod->path, &inode);
    if (fd < 0 || (own >= 0 && inode == mod->inode)) {
        if (fd >= 0) close(fd);
        return own;
    }
    if (own >= 0) close(own);
    return fd;
}

/* Every process has the same one, this one too. */
static bool prepare_vdso(struct axp__mod *mod, uint64_t bytes)
{
    const char *own = (const char *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */
    if (!own || bytes > VDSO_MOST) return false;
    mod->bytes = malloc((size_t)bytes + 1);
    if (!mod->bytes) return false;
    memcpy(mod->bytes, own, (size_t)bytes);
    struct image image = {-1, mod->bytes, (size_t)bytes};
    if (!read_headers(mod, &image)) return false;
    mod->cfi = axp__cfi_of_bytes(mod->bytes, (size_t)bytes);
    return true;
}

static bool prepare_file(struct axp__mod *mod, uint32_t pid)
{
    int fd = open_file(mod, pid);
    if (fd < 0) return false;
    struct image image = {fd, NULL, 0};
    if (!read_headers(mod, &image)) {
        close(fd);
        return false;
    }
    if (!mod->build_id[0] && !axp__module_make_id(fd, mod->build_id))
        mod->build_id[0] = 0;
    mod->cfi = axp__cfi_open(fd);
    return true;
}

void axp__mod_prepare(struct axp__mods *m, struct axp__mod *mod, uint32_t pid,
                      uint64_t mapped_bytes)
{
    if (mod->is_ready) return;
    mod->is_ready = true;
    bool is_elf = mod->path[0] == '/' ? prepare_file(mod, pid)
                  : !strcmp(mod->path, "[vdso]")
                      ? prepare_vdso(mod, mapped_bytes)
                      : false;
    if (!is_elf) {
        mod->n_loads = 0;
        bool is_jit = !strncmp(mod->path, AXP__JIT_CODE, strlen(AXP__JIT_CODE));
        mod->low = 0;
        mod->high =
            is_jit && mod->inode < MOST_BYTES ? mod->inode : UNKNOWN_BYTES;
    }
    mod->bias = m->next;
    m->next += (mod->high + 2 * PLACE_ROUND - 1) & ~(PLACE_ROUND - 1);
}

bool axp__mod_read(struct axp__mod *mod, uint32_t pid, uint64_t offset,
                   void *out, size_t n)
{
    if (mod->path[0] != '/') return false;
    if (!mod->fd) {
        int fd = open_file(mod, pid);
        mod->fd = fd < 0 ? -1 : fd + 1;
    }
    return mod->fd > 0 &&
           pread(mod->fd - 1, out, n, (off_t)offset) == (ssize_t)n;
}

uint64_t axp__mod_address(const struct axp__mod *mod, uint64_t offset)
{
    for (size_t i = 0; i < mod->n_loads; i++)
        if (offset >= mod->load[i].offset &&
            offset - mod->load[i].offset < mod->load[i].bytes)
            return offset - mod->load[i].offset + mod->load[i].address;
    return offset;
}

uint64_t axp__mods_kernel(struct axp__mods *m)
{
    if (!m->kernel) m->kernel = find(m, "[kernel]", 0, 0, 0);
    if (!m->kernel) return 0;
    axp__mod_prepare(m, m->kernel, 0, 0);
    return m->kernel->bias;
}
