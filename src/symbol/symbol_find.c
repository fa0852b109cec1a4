/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lookup with elfutils' libdw.
 *
 * The library is loaded when the first name is looked up (symbol_libdw.h):
 * here its functions are called through `dw`.
 *
 * Each module is a session of libdw's of its own, so that modules do not have
 * to share one address space. A module that cannot be opened is remembered, so
 * that it is tried once.
 */
#include "symbol/symbol_find.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base_text.h"
#include "symbol/symbol_chain.h"
#include "symbol/symbol_debug.h"
#include "symbol/symbol_demangle.h"
#include "symbol/symbol_fde.h"
#include "symbol/symbol_libdw.h"
#include "symbol/symbol_table.h"

#define MAX_FRAMES 64   /* nested inlining beyond that is cut … */
#define MAX_CHAIN 128   /* … with the blocks around it */
#define MAX_ROWS 16     /* of lines without a number, one after another */
#define MAX_TYPES 8     /* pointers and qualifiers before one */
#define MAX_HEADERS 256 /* of a module */
#define MAX_SECTIONS 65536

struct text {
    struct text *next;
    char bytes[];
};

struct module {
    struct module *next;
    char *path, *build_id; /* "": none */
    Dwfl *session;         /* NULL: cannot be used */
    Dwfl_Module *handle;   /* of the session */
    GElf_Addr bias;
    struct axp__name_table names;
    struct axp__fde_table functions; /* where there are no symbols … */
    uint64_t first_code, end_code;   /* … and where code is at all */
    struct axp__code_index code;     /* by debug information */
    bool has_lines;                  /* or they are not worth their time */
    Dwarf_Die *unit; /* where the last search by hand ended; NULL: none */
    Dwarf_Addr unit_bias;
};

struct axp__symbolizer {
    struct axp__folders folders;
    struct module *modules;
    struct text *texts;
};

static const struct axp__libdw *dw; /* NULL: not on this machine */

/* ---- strings ------------------------------------------------------------ */

static const char *keep(struct axp__symbolizer *s, const char *text)
{
    size_t len = strlen(text);
    struct text *t = malloc(sizeof *t + len + 1);
    if (!t) return NULL;
    memcpy(t->bytes, text, len + 1);
    t->next = s->texts;
    s->texts = t;
    return t->bytes;
}

static const char *keep_name(struct axp__symbolizer *s, const char *name)
{
    char *bare = strndup(name, axp__symbol_name_length(name));
    char *plain = bare ? axp__symbol_demangle(bare) : NULL;
    const char *kept = bare ? keep(s, plain ? plain : bare) : NULL;
    free(bare);
    free(plain);
    return kept;
}

/* ---- modules ------------------------------------------------------------ */

/* In the file's own bytes, which stay as long as the session. */
static void find_functions(struct module *m, Elf *elf)
{
    size_t n_headers, n_bytes;
    GElf_Phdr p;
    const char *bytes = dw->elf_rawfile(elf, &n_bytes);
    if (!bytes || dw->elf_getphdrnum(elf, &n_headers)) return;
    for (size_t i = 0; i < n_headers && i < MAX_HEADERS; i++) {
        if (!dw->gelf_getphdr(elf, (int)i, &p)) return;
        if (p.p_type == PT_LOAD && p.p_flags & PF_X) {
            m->first_code = p.p_vaddr;
            m->end_code = p.p_vaddr + p.p_filesz;
        }
        if (p.p_type != PT_GNU_EH_FRAME || p.p_offset > n_bytes ||
            p.p_filesz > n_bytes - p.p_offset)
            continue;
        m->functions = (struct axp__fde_table){
            (const uint8_t *)bytes + p.p_offset, p.p_filesz, p.p_vaddr};
    }
}

static bool has_debug(Elf *elf)
{
    size_t names;
    GElf_Shdr header;
    if (dw->elf_getshdrstrndx(elf, &names)) return false;
    for (size_t i = 1; i < MAX_SECTIONS; i++) {
        Elf_Scn *section = dw->elf_getscn(elf, i);
        if (!section || !dw->gelf_getshdr(section, &header)) return false;
        const char *name = dw->elf_strptr(elf, names, header.sh_name);
        if (name && !strcmp(name, ".debug_info")) return true;
    }
    return false;
}

/* A library of the system, with its debug information elsewhere: opening the C
 * library's took 45 ms, a third of what was to do for a short program, for lines
 * of code that nobody is about to change. Names are there without it. */
static bool is_worth_lines(const char *path, Elf *elf)
{
    return !axp__module_is_system(path) || has_debug(elf);
}

static void open_module(const struct axp__symbolizer *s, struct module *m,
                        const char *build_id)
{
    static Dwfl_Callbacks callbacks;
    char path[AXP__MODULE_PATH];
    int fd = axp__module_find(s->folders, m->path, build_id, path);
    if (fd < 0) return;
    callbacks.find_debuginfo = axp__debug_find;
    callbacks.section_address = dw->dwfl_offline_section_address;
    m->session = dw->dwfl_begin(&callbacks);
    if (m->session) {
        dw->dwfl_report_begin(m->session);
        m->handle = dw->dwfl_report_offline(m->session, path, path, fd);
        dw->dwfl_report_end(m->session, NULL, NULL);
        if (m->handle) {
            fd = -1; /* the session's now */
            Elf *elf = dw->dwfl_module_getelf(m->handle, &m->bias);
            if (elf) find_functions(m, elf);
            if (elf) axp__name_table_fill(&m->names, dw, m->handle);
            if (elf) m->has_lines = is_worth_lines(path, elf);
            if (elf) return;
        }
        dw->dwfl_end(m->session);
        m->session = NULL;
    }
    if (fd >= 0) close(fd);
}

static struct module *find_module(struct axp__symbolizer *s,
                                  const struct axp__place *place)
{
    const char *id = place->build_id ? place->build_id : "";
    struct module *m = s->modules;
    while (m &&
           (strcmp(m->path, place->path) != 0 || strcmp(m->build_id, id) != 0))
        m = m->next;
    if (m) return m;
    m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->path = strdup(place->path);
    m->build_id = strdup(id);
    if (!m->path || !m->build_id) {
        free(m->path);
        free(m->build_id);
        free(m);
        return NULL;
    }
    m->next = s->modules;
    s->modules = m;
    if (dw && place->path[0] == '/' && *id) open_module(s, m, id);
    return m;
}

struct axp__symbolizer *axp__symbolizer_create(struct axp__folders folders)
{
    struct axp__symbolizer *s = calloc(1, sizeof *s);
    dw = axp__libdw_load();
    if (s) s->folders = folders;
    return s;
}

void axp__symbolizer_destroy(struct axp__symbolizer *s)
{
    if (!s) return;
    for (struct module *m = s->modules, *next; m; m = next) {
        next = m->next;
        axp__name_table_fini(&m->names);
        axp__code_index_fini(&m->code);
        if (m->session) dw->dwfl_end(m->session);
        free(m->path);
        free(m->build_id);
        free(m);
    }
    for (struct text *t = s->texts, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    free(s);
}

/* ---- frames ------------------------------------------------------------- */

/* The unit that an address belongs to. libdw knows by .debug_aranges, which
 * clang does not write: then every unit is asked, the last one found first. */
static Dwarf_Die *find_unit(struct module *m, Dwarf_Addr at, Dwarf_Addr *bias)
{
    if (!m->has_lines) return NULL;
    Dwarf_Die *unit = dw->dwfl_module_addrdie(m->handle, at, bias);
    if (unit) return unit;
    *bias = m->unit_bias;
    if (m->unit && dw->dwarf_haspc(m->unit, at - *bias) == 1) return m->unit;
    while ((unit = dw->dwfl_module_nextcu(m->handle, unit, bias)))
        if (dw->dwarf_haspc(unit, at - *bias) == 1) {
            m->unit = unit;
            m->unit_bias = *bias;
            return unit;
        }
    return NULL;
}

/* The line of an address; what compilers made for no line in particular has the
 * number 0, and is where the code before it is, if that is of the same file and of
 * the function, which begins there. 0: nobody knows. */
static int find_line(Dwarf_Die *unit, Dwarf_Addr at, Dwarf_Addr begin,
                     const char **file)
{
    int number = 0;
    for (unsigned i = 0; i < MAX_ROWS && at >= begin; i++) {
        Dwarf_Addr row;
        Dwarf_Line *line = dw->dwarf_getsrc_die(unit, at);
        const char *of = line ? dw->dwarf_linesrc(line, NULL, NULL) : NULL;
        if (!of || dw->dwarf_lineno(line, &number)) return 0;
        if (!*file) *file = of;
        if (strcmp(of, *file) != 0) number = 0;
        if (number || dw->dwarf_lineaddr(line, &row) || !row) return number;
        at = row - 1;
    }
    return 0;
}

static void set_line(struct axp__symbolizer *s, struct module *m, Dwarf_Addr at,
                     Dwarf_Addr begin, struct axp__symbol *out)
{
    Dwarf_Addr bias;
    const char *file = NULL;
    Dwarf_Die *unit = find_unit(m, at, &bias);
    int number = unit ? find_line(unit, at - bias, begin - bias, &file) : 0;
    if (!file) return;
    out->file = keep(s, file);
    out->line = number;
}

/* The line that an inlined function was called from. */
static void set_call_line(struct axp__symbolizer *s, Dwarf_Die *cu,
                          Dwarf_Die *inlined, struct axp__symbol *out)
{
    Dwarf_Attribute attr;
    Dwarf_Word file_index, line;
    Dwarf_Files *files;
    size_t n_files;
    if (dw->dwarf_formudata(dw->dwarf_attr(inlined, DW_AT_call_file, &attr),
                            &file_index) ||
        dw->dwarf_formudata(dw->dwarf_attr(inlined, DW_AT_call_line, &attr),
                            &line) ||
        dw->dwarf_getsrcfiles(cu, &files, &n_files) || file_index >= n_files)
        return;
    const char *file = dw->dwarf_filesrc(files, file_index, NULL, NULL);
    out->file = file ? keep(s, file) : NULL;
    out->line = (int)line;
}

/* What a member of it is called with: the type that `this` points to. */
static bool find_class(Dwarf_Die *member, Dwarf_Die *out)
{
    Dwarf_Attribute attr;
    unsigned reference = DW_AT_object_pointer;
    *out = *member;
    for (int k = 0; k < MAX_TYPES; k++, reference = DW_AT_type) {
        if (!dw->dwarf_formref_die(
                dw->dwarf_attr_integrate(out, reference, &attr), out))
            return false;
        int tag = dw->dwarf_tag(out);
        if (tag == DW_TAG_structure_type || tag == DW_TAG_class_type)
            return true;
    }
    return false;
}

/* One in a function has no name of its own: it is called by where it is. */
static const char *lambda_name(struct axp__symbolizer *s, Dwarf_Die *die)
{
    char text[512];
    int line = 0;
    Dwarf_Die closure;
    if (!find_class(die, &closure)) return keep(s, "lambda");
    const char *file = dw->dwarf_decl_file(&closure);
    if (!file || dw->dwarf_decl_line(&closure, &line)) return keep(s, "lambda");
    snprintf(text, sizeof text, "lambda at %.400s:%d",
             axp__text_last_part(file), line);
    return keep(s, text);
}

static const char *die_name(struct axp__symbolizer *s, Dwarf_Die *die)
{
    Dwarf_Attribute attr;
    const char *name = dw->dwarf_formstring(
        dw->dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));
    if (name) return keep_name(s, name);
    name = dw->dwarf_diename(die);
    if (name && !strcmp(name, "operator()")) return lambda_name(s, die);
    return keep_name(s, name ? name : "(inlined)");
}

/* Functions inlined at the address, innermost first. On return `last` has the
 * line of the outermost one's call, or is as it was. */
static size_t find_inlined(struct axp__symbolizer *s, struct module *m,
                           Dwarf_Addr at, struct axp__symbol *out,
                           struct axp__symbol *last)
{
    Dwarf_Addr bias;
    Dwarf_Die chain[MAX_CHAIN], *cu = find_unit(m, at, &bias);
    size_t n =
        cu ? axp__code_chain(&m->code, dw, cu, at - bias, chain, MAX_CHAIN) : 0;
    size_t n_out = 0;
    while (n-- && n_out < MAX_FRAMES - 1) {
        if (dw->dwarf_tag(&chain[n]) != DW_TAG_inlined_subroutine) continue;
        struct axp__symbol *frame = &out[n_out++];
        *frame = *last;
        frame->name = die_name(s, &chain[n]);
        set_call_line(s, cu, &chain[n], last);
    }
    return n_out;
}

/* The line that a function begins in: the first instruction may already be
 * that of something inlined. */
static void set_begin_line(struct axp__symbolizer *s, struct module *m,
                           Dwarf_Addr at, struct axp__symbol *out)
{
    Dwarf_Addr bias;
    Dwarf_Die function, *cu = find_unit(m, at, &bias);
    int line = 0;
    if (!cu || !axp__code_chain(&m->code, dw, cu, at - bias, &function, 1))
        return;
    const char *file = dw->dwarf_decl_file(&function);
    if (!file || dw->dwarf_decl_line(&function, &line)) return;
    out->file = keep(s, file);
    out->line = line;
}

/* A function that has no name is called by where it begins. */
static size_t find_unnamed(struct axp__symbolizer *s, const struct module *m,
                           uint64_t address, struct axp__symbol *out,
                           size_t cap)
{
    char text[512];
    uint64_t begin;
    if (address < m->first_code || address >= m->end_code ||
        !axp__fde_begin(&m->functions, address, &begin))
        return 0;
    snprintf(text, sizeof text, "%s+0x%llx", axp__text_last_part(m->path),
             (unsigned long long)begin);
    struct axp__symbol found = {.name = keep(s, text)};
    if (!found.name) return 0;
    if (cap) *out = found;
    return 1;
}

size_t axp__symbol_find(struct axp__symbolizer *s,
                        const struct axp__place *place, struct axp__symbol *out,
                        size_t cap)
{
    struct axp__symbol frames[MAX_FRAMES], last = {0};
    struct module *m = find_module(s, place);
    size_t n = 0;
    if (!m || !m->session) return 0;
    Dwarf_Addr at = place->address + m->bias;
    const struct axp__named_code *named = axp__name_table_find(&m->names, at);
    if (!named) return find_unnamed(s, m, place->address, out, cap);
    set_line(s, m, at, named->begin, &last);
    if (named->begin == at)
        set_begin_line(s, m, at, &last);
    else
        n = find_inlined(s, m, at, frames, &last);
    last.name = keep_name(s, named->name);
    /* Of a function that is inlined in part the rest is itself. */
    if (n && last.name && frames[n - 1].name &&
        !strcmp(frames[n - 1].name, last.name))
        last = frames[--n];
    frames[n++] = last;
    for (size_t i = 0; i < n; i++)
        if (!frames[i].name) return 0; /* no memory */
    memcpy(out, frames, (n < cap ? n : cap) * sizeof *out);
    return n;
}
