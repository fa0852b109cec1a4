/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Headers of executables, read through a mapping. Only files of this
 * machine's word size and byte order are read beyond their first bytes: all
 * that others need is to be named. */
#include "cli/cli_elf.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct image {
    const unsigned char *bytes;
    size_t size;
} image;

static const void *at(const image *m, uint64_t offset, uint64_t len)
{
    if (offset > m->size || len > m->size - offset) return NULL;
    return m->bytes + offset;
}

/* A string of a table, or "" where it does not end inside the file. */
static const char *text_at(const image *m, uint64_t offset)
{
    const char *text = at(m, offset, 1);
    if (!text || !memchr(text, 0, m->size - offset)) return "";
    return text;
}

static const ElfW(Phdr) * segments(const image *m, unsigned *n)
{
    const ElfW(Ehdr) *head = at(m, 0, sizeof *head);
    *n = 0;
    if (!head || head->e_phentsize != sizeof(ElfW(Phdr))) return NULL;
    const void *table =
        at(m, head->e_phoff, (uint64_t)head->e_phnum * sizeof(ElfW(Phdr)));
    if (table) *n = head->e_phnum;
    return table;
}

static const ElfW(Shdr) * sections(const image *m, unsigned *n)
{
    const ElfW(Ehdr) *head = at(m, 0, sizeof *head);
    *n = 0;
    if (!head || head->e_shentsize != sizeof(ElfW(Shdr))) return NULL;
    const void *table =
        at(m, head->e_shoff, (uint64_t)head->e_shnum * sizeof(ElfW(Shdr)));
    if (table) *n = head->e_shnum;
    return table;
}

static void read_interp(const image *m, const ElfW(Phdr) * p, cli_elf *out)
{
    const char *text = text_at(m, p->p_offset);
    out->is_dynamic = true;
    snprintf(out->loader, sizeof out->loader, "%s", text);
    out->is_musl = strstr(text, "ld-musl") != NULL;
}

static void read_build_id(const image *m, const ElfW(Phdr) * p, cli_elf *out)
{
    uint64_t offset = p->p_offset, end = p->p_offset + p->p_filesz;
    while (offset < end) {
        const ElfW(Nhdr) *note = at(m, offset, sizeof *note);
        if (!note) return;
        uint64_t name = offset + sizeof *note;
        uint64_t data = name + ((note->n_namesz + 3u) & ~3u);
        const unsigned char *id = at(m, data, note->n_descsz);
        if (!id) return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
            !memcmp(at(m, name, 4), "GNU", 4) && note->n_descsz <= 40) {
            for (unsigned i = 0; i < note->n_descsz; i++)
                snprintf(out->build_id + 2 * (size_t)i, 3, "%02x", id[i]);
            return;
        }
        offset = data + ((note->n_descsz + 3u) & ~3u);
    }
}

bool cli_elf_is_allocator(const char *file)
{
    static const char *const names[] = {"libtcmalloc", "libjemalloc",
                                        "libmimalloc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(file, names[i], strlen(names[i]))) return true;
    return false;
}

static void note_library(const char *name, cli_elf *out)
{
    if (cli_elf_is_allocator(name)) out->needs_allocator = true;
    if (!strncmp(name, "libasan.so", 10) || !strncmp(name, "libtsan.so", 10) ||
        !strncmp(name, "liblsan.so", 10))
        out->needs_asan = true;
    if (!strncmp(name, "libaxprof", 9)) out->needs_rt = true;
    if (!strncmp(name, "libc.musl", 9)) out->is_musl = true;
}

/* malloc, or one of those that are linked into programs under other names. */
static const char *malloc_called(const char *name)
{
    static const char *const names[] = {"malloc",    "mi_malloc",
                                        "je_malloc", "_rjem_malloc",
                                        "tc_malloc", "rpmalloc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return names[i];
    return NULL;
}

/* Of the symbols that a loader does not look at. */
static void note_hidden(const char *name, const ElfW(Sym) * symbol,
                        cli_elf *out)
{
    unsigned binding = ELF64_ST_BIND(symbol->st_info);
    unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
    if (symbol->st_shndx == SHN_UNDEF ||
        ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
        return;
    const char *found = malloc_called(name);
    if (!found) return;
    if (strcmp(found, "malloc") != 0 || binding == STB_LOCAL ||
        visibility == STV_HIDDEN || visibility == STV_INTERNAL)
        out->hidden_malloc = found;
}

static void note_symbol(const char *name, bool is_defined, cli_elf *out)
{
    if (!is_defined && !strcmp(name, "__cyg_profile_func_enter"))
        out->has_hooks = true;
    if (is_defined && !strcmp(name, "axp__process_v1")) out->needs_rt = true;
    if (is_defined && (!strcmp(name, "sgemm_") || !strcmp(name, "dgemm_") ||
                       !strcmp(name, "cblas_sgemm")))
        out->has_blas = true;
}

static void read_libraries(const image *m, const ElfW(Shdr) * s,
                           const ElfW(Shdr) * strings, cli_elf *out)
{
    size_t n = s->sh_size / sizeof(ElfW(Dyn));
    const ElfW(Dyn) *entry = at(m, s->sh_offset, n * sizeof *entry);
    for (size_t i = 0; entry && i < n && entry[i].d_tag != DT_NULL; i++)
        if (entry[i].d_tag == DT_NEEDED)
            note_library(text_at(m, strings->sh_offset + entry[i].d_un.d_val),
                         out);
}

/* Where an address of the program lies in its file. */
static uint64_t offset_of(const image *m, uint64_t address)
{
    unsigned n;
    const ElfW(Phdr) *p = segments(m, &n);
    for (unsigned i = 0; i < n; i++)
        if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr &&
            address - p[i].p_vaddr < p[i].p_filesz)
            return p[i].p_offset + (address - p[i].p_vaddr);
    return UINT64_MAX;
}

/* Does the code begin by saving the frame pointer and setting it? Compilers
 * put a landing mark before it, and may put something between the two. */
static bool makes_frame(const unsigned char *code, size_t len)
{
#if defined(__x86_64__)
    for (size_t i = 0; i + 4 <= len; i++) /* push %rbp … mov %rsp,%rbp */
        if ((code[i] == 0x48 && code[i + 1] == 0x89 && code[i + 2] == 0xe5) ||
            (code[i] == 0x48 && code[i + 1] == 0x8b && code[i + 2] == 0xec))
            return memchr(code, 0x55, i) != NULL;
#else
    for (size_t i = 0; i + 4 <= len; i += 4) { /* stp x29, x30, [sp … ] */
        uint32_t word;
        memcpy(&word, code + i, 4);
        if ((word & 0xfe407fff) == 0xa8007bfd) return true;
    }
#endif
    return false;
}

static void note_function(const image *m, const ElfW(Sym) * symbol,
                          cli_elf *out)
{
    enum { LOOK = 32, LEAST = 96 };
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
        symbol->st_shndx == SHN_UNDEF || symbol->st_size < LEAST)
        return;
    const unsigned char *code = at(m, offset_of(m, symbol->st_value), LOOK);
    if (!code) return;
    out->n_functions++;
    out->n_with_frame += makes_frame(code, LOOK);
}

static void read_symbols(const image *m, const ElfW(Shdr) * s,
                         const ElfW(Shdr) * strings, cli_elf *out)
{
    size_t n = s->sh_size / sizeof(ElfW(Sym));
    const ElfW(Sym) *symbol = at(m, s->sh_offset, n * sizeof *symbol);
    for (size_t i = 0; symbol && i < n; i++) {
        const char *name = text_at(m, strings->sh_offset + symbol[i].st_name);
        note_symbol(name, symbol[i].st_shndx != SHN_UNDEF, out);
        if (s->sh_type == SHT_DYNSYM && symbol[i].st_shndx != SHN_UNDEF &&
            !strcmp(name, "malloc"))
            out->has_malloc = true;
        if (s->sh_type == SHT_SYMTAB) note_hidden(name, &symbol[i], out);
        note_function(m, &symbol[i], out);
    }
}

static void read_sections(const image *m, bool is_deep, cli_elf *out)
{
    const ElfW(Ehdr) *head = at(m, 0, sizeof *head);
    unsigned n;
    const ElfW(Shdr) *s = sections(m, &n);
    if (!s || head->e_shstrndx >= n) return;
    for (unsigned i = 0; i < n; i++) {
        const char *name =
            text_at(m, s[head->e_shstrndx].sh_offset + s[i].sh_name);
        bool is_linked = s[i].sh_link < n;
        if (!strcmp(name, ".debug_info")) out->has_debug = true;
        if (s[i].sh_type == SHT_SYMTAB) out->has_symbols = true;
        if (s[i].sh_type == SHT_DYNAMIC && is_linked)
            read_libraries(m, &s[i], &s[s[i].sh_link], out);
        if (is_deep && is_linked &&
            (s[i].sh_type == SHT_DYNSYM || s[i].sh_type == SHT_SYMTAB))
            read_symbols(m, &s[i], &s[s[i].sh_link], out);
    }
}

static bool read_image(const image *m, bool is_deep, cli_elf *out)
{
    const unsigned char *ident = at(m, 0, sizeof(ElfW(Ehdr)));
    if (!ident || memcmp(ident, ELFMAG, SELFMAG) != 0) return false;
    out->is_64 = ident[EI_CLASS] == ELFCLASS64;
    out->is_little = ident[EI_DATA] == ELFDATA2LSB;
    const unsigned char *half = ident + EI_NIDENT;
    int low = out->is_little ? 0 : 1;
    out->type = (uint16_t)(half[low] | half[1 - low] << 8);
    out->machine = (uint16_t)(half[2 + low] | half[3 - low] << 8);
    if (!cli_elf_is_native(out)) return true;

    unsigned n;
    const ElfW(Phdr) *p = segments(m, &n);
    for (unsigned i = 0; i < n; i++) {
        if (p[i].p_type == PT_INTERP) read_interp(m, &p[i], out);
        if (p[i].p_type == PT_NOTE) read_build_id(m, &p[i], out);
    }
    read_sections(m, is_deep, out);
    return true;
}

bool cli_elf_read(const char *path, bool is_deep, cli_elf *out)
{
    struct stat st;
    cli_elf elf = {0};
    bool is_elf = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
        image m = {.size = (size_t)st.st_size};
        void *bytes = mmap(NULL, m.size, PROT_READ, MAP_PRIVATE, fd, 0);
        m.bytes = bytes;
        if (bytes != MAP_FAILED) {
            is_elf = read_image(&m, is_deep, &elf);
            munmap(bytes, m.size);
        }
    }
    close(fd);
    if (is_elf) *out = elf;
    return is_elf;
}

bool cli_elf_is_native(const cli_elf *elf)
{
#if defined(__x86_64__)
    const uint16_t machine = EM_X86_64;
#elif defined(__aarch64__)
    const uint16_t machine = EM_AARCH64;
#else
#error "only x86-64 and aarch64"
#endif
    return elf->is_64 && elf->is_little && elf->machine == machine;
}

const char *cli_elf_machine(uint16_t machine)
{
    switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "aarch64";
    case EM_386: return "i386";
    case EM_ARM: return "arm";
    case EM_RISCV: return "riscv";
    case EM_PPC64: return "ppc64";
    default: return "another machine";
    }
}
