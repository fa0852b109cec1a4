/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names by address; see symbol_table.h. */
#include "symbol/symbol_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MOST 64 /* symbols before an address */

/* ---- filling ------------------------------------------------------------ */

/* A function of the C library has several names, of which programs call one: fflush
 * is _IO_fflush too, and __GI_fflush to the library itself. Names of C++ all begin
 * with _Z. */
static uint8_t rank_of_name(const char *name)
{
    if (!strncmp(name, "__GI_", 5)) return 8;
    return name[0] == '_' && name[1] != 'Z' ? 3 : 0;
}

static uint8_t rank_of(const GElf_Sym *symbol, const char *name)
{
    unsigned bind = GELF_ST_BIND(symbol->st_info);
    unsigned by_bind = bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 2 : 4;
    bool is_bare = GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE;
    return (uint8_t)(by_bind + is_bare + rank_of_name(name));
}

static bool is_code(const GElf_Sym *symbol, const char *name)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (!name || !*name || symbol->st_shndx == SHN_UNDEF) return false;
    return type == STT_FUNC || type == STT_GNU_IFUNC ||
           (type == STT_NOTYPE && *name != '$'); /* aarch64: "$x", "$d" */
}

/* Where the section of a label ends; 0: it has none, or holds no code. */
static uint64_t end_of_section(const struct axp__libdw *dw, Elf *elf,
                               GElf_Word section, GElf_Addr bias)
{
    GElf_Shdr header;
    Elf_Scn *found = dw->elf_getscn(elf, section);
    if (!found || !dw->gelf_getshdr(found, &header) ||
        !(header.sh_flags & SHF_EXECINSTR))
        return 0;
    return header.sh_addr + header.sh_size + bias;
}

static void add(struct axp__name_table *t, const struct axp__libdw *dw,
                Dwfl_Module *module, int i)
{
    GElf_Sym symbol;
    GElf_Addr begin, bias;
    GElf_Word section;
    Elf *elf;
    const char *name = dw->dwfl_module_getsym_info(module, i, &symbol, &begin,
                                                   &section, &elf, &bias);
    if (!is_code(&symbol, name)) return;
    struct axp__named_code found = {.begin = begin,
                                    .end = begin + symbol.st_size,
                                    .name = name,
                                    .is_label = !symbol.st_size,
                                    .rank = rank_of(&symbol, name)};
    if (found.is_label) found.end = end_of_section(dw, elf, section, bias);
    if (found.end > begin) t->at[t->n++] = found;
}

/* The better one of two is the later, where a search from behind is first. */
static int compare(const void *a, const void *b)
{
    const struct axp__named_code *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->is_label != y->is_label) return x->is_label ? -1 : 1;
    if (x->rank != y->rank) return x->rank > y->rank ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    size_t n_x = strlen(x->name), n_y = strlen(y->name);
    if (n_x != n_y) return n_x > n_y ? -1 : 1;
    return strcmp(y->name, x->name);
}

void axp__name_table_fill(struct axp__name_table *t,
                          const struct axp__libdw *dw, Dwfl_Module *module)
{
    int n = dw->dwfl_module_getsymtab(module);
    *t = (struct axp__name_table){0};
    if (n <= 0) return;
    t->at = malloc((size_t)n * sizeof *t->at);
    if (!t->at) return;
    for (int i = 0; i < n; i++)
        add(t, dw, module, i);
    qsort(t->at, t->n, sizeof *t->at, compare);
    for (size_t i = 0; i < t->n; i++) {
        uint64_t before = i ? t->at[i - 1].reach : 0;
        uint64_t end = t->at[i].is_label ? 0 : t->at[i].end;
        t->at[i].reach = end > before ? end : before;
    }
}

void axp__name_table_fini(struct axp__name_table *t)
{
    free(t->at);
    *t = (struct axp__name_table){0};
}

/* ---- finding ------------------------------------------------------------ */

/* How many begin at the address or before it. */
static size_t count_before(const struct axp__name_table *t, uint64_t address)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->at[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct axp__named_code *axp__name_table_find(
    const struct axp__name_table *t, uint64_t address)
{
    const struct axp__named_code *label = NULL;
    size_t n = count_before(t, address);
    uint64_t reach = n ? t->at[n - 1].reach : 0;
    for (size_t i = n; i > 0 && n - i < LOOK_MOST; i--) {
        const struct axp__named_code *s = &t->at[i - 1];
        if (!s->is_label && s->end > address) return s;
        if (s->is_label && !label && s->end > address && s->begin >= reach)
            label = s;
        if (s->reach <= address) break;
    }
    return label;
}
