/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Addresses of stacks, named; see model_stacks.h. */
#include "model/model_stacks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_sized.h"
#include "base/base_text.h"
#include "model/model_view.h"
#include "symbol/symbol_find.h"

#define MOST_INLINED 16u
#define MOST_LOOKS 16u /* at modules that may hold an address */

/* The modules of a process, by their first address. */
struct part {
    const struct axp__cap_module **at;
    uint64_t *reach; /* the last address of all up to this one */
    size_t n;
    bool is_made;
};

/* An address that was asked for. */
struct known {
    uint64_t pc;
    uint32_t part;                        /* + 1; 0: free */
    uint32_t n;                           /* of symbols */
    const struct axp__cap_module *module; /* NULL: in none */
    struct axp__symbol *symbol;
};

struct axp__stack_names {
    pthread_mutex_t mutex;
    const struct axp__capture *c;
    struct axp__symbolizer *symbols;
    const char **folders;
    size_t n_folders;
    struct part *parts;
    struct known *known; /* by hash */
    size_t n_known, cap_known;
};

/* ---- modules --------------------------------------------------------------------- */

static int compare_texts(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int by_place(const void *a, const void *b)
{
    const struct axp__cap_module *x = *(const struct axp__cap_module *const *)a;
    const struct axp__cap_module *y = *(const struct axp__cap_module *const *)b;
    if (x->first != y->first) return x->first > y->first ? 1 : -1;
    if (x->last != y->last) return x->last > y->last ? 1 : -1;
    if (x->bias != y->bias) return x->bias > y->bias ? 1 : -1;
    int order = strcmp(x->path, y->path);
    return order ? order : compare_texts(x->build_id, y->build_id);
}

/* The same one is told again and again. False: no memory. */
static bool make_part(struct part *p, const struct axp__capture *of)
{
    if (p->is_made) return true;
    p->at = malloc((of->n_modules + 1) * sizeof(struct axp__cap_module *));
    p->reach = malloc((of->n_modules + 1) * sizeof *p->reach);
    if (!p->at || !p->reach) return false;
    for (size_t i = 0; i < of->n_modules; i++)
        p->at[i] = &of->modules[i];
    qsort(p->at, of->n_modules, sizeof *p->at, by_place);
    for (size_t i = 0; i < of->n_modules; i++) {
        if (p->n && !by_place(&p->at[p->n - 1], &p->at[i])) continue;
        uint64_t before = p->n ? p->reach[p->n - 1] : 0;
        p->at[p->n] = p->at[i];
        p->reach[p->n] = p->at[i]->last > before ? p->at[i]->last : before;
        p->n++;
    }
    return p->is_made = true;
}

/* The one module that holds an address; NULL: none, or several did in time. */
static const struct axp__cap_module *find_module(const struct part *p,
                                                 uint64_t pc)
{
    const struct axp__cap_module *found = NULL;
    size_t low = 0, high = p->n;
    while (low < high) { /* the first that begins after it */
        size_t mid = (low + high) / 2;
        if (p->at[mid]->first <= pc)
            low = mid + 1;
        else
            high = mid;
    }
    for (unsigned n = 0; low-- && p->reach[low] > pc; n++) {
        if (n == MOST_LOOKS) return NULL;
        if (p->at[low]->last <= pc) continue;
        if (found) return NULL;
        found = p->at[low];
    }
    return found;
}

/* ---- what was asked for before ------------------------------------------------------ */

static struct known *find_slot(const struct axp__stack_names *s, uint64_t pc,
                               uint32_t part)
{
    uint64_t k = axp__mix64(pc ^ (uint64_t)part << 48);
    struct known *at;
    while ((at = &s->known[k & (s->cap_known - 1)])->part &&
           (at->pc != pc || at->part != part))
        k++;
    return at;
}

static bool widen(struct axp__stack_names *s)
{
    struct axp__stack_names wider = {
        .cap_known = s->cap_known ? 2 * s->cap_known : 1024};
    if (2 * s->n_known < s->cap_known) return true;
    wider.known = calloc(wider.cap_known, sizeof *wider.known);
    if (!wider.known) return false;
    for (size_t i = 0; i < s->cap_known; i++)
        if (s->known[i].part)
            *find_slot(&wider, s->known[i].pc, s->known[i].part) = s->known[i];
    free(s->known);
    s->known = wider.known;
    s->cap_known = wider.cap_known;
    return true;
}

static void look_up(struct axp__stack_names *s, struct known *k)
{
    struct axp__symbol found[MOST_INLINED];
    struct axp__place place = {.path = k->module->path,
                               .build_id = k->module->build_id,
                               .address = k->pc - k->module->bias};
    if (!place.build_id) return;
    if (!s->symbols)
        s->symbols = axp__symbolizer_create(
            (struct axp__folders){s->folders, s->n_folders});
    size_t n = s->symbols
                   ? axp__symbol_find(s->symbols, &place, found, MOST_INLINED)
                   : 0;
    if (n > MOST_INLINED) n = MOST_INLINED;
    k->symbol = n ? malloc(n * sizeof *k->symbol) : NULL;
    if (!k->symbol) return;
    memcpy(k->symbol, found, n * sizeof *k->symbol);
    k->n = (uint32_t)n;
}

/* NULL: no memory. */
static const struct known *get_known(struct axp__stack_names *s, uint64_t pc,
                                     size_t part)
{
    struct part *p = &s->parts[part];
    if (!make_part(p, axp__cap_part(s->c, part)) || !widen(s)) return NULL;
    struct known *k = find_slot(s, pc, (uint32_t)part + 1);
    if (k->part) return k;
    *k = (struct known){
        .pc = pc, .part = (uint32_t)part + 1, .module = find_module(p, pc)};
    s->n_known++;
    if (k->module) look_up(s, k);
    return k;
}

/* ---- frames --------------------------------------------------------------------------- */

/* A caller's array: how many frames it has by now, and how long each is. */
struct place {
    char *out;
    size_t n, cap, size;
};

static void put(struct place *p, const axp_frame *frame)
{
    if (p->n < p->cap)
        axp__sized_copy(p->out + p->n * p->size, p->size, frame, sizeof *frame);
    p->n++;
}

/* A frame and what was inlined there, innermost first. */
static void put_frames(struct place *p, const struct known *k, uint64_t address)
{
    axp_frame frame = {.offset = address};
    if (k && k->module) {
        frame.module = k->module->path;
        frame.offset = address - k->module->bias;
    }
    if (!k || !k->symbol) {
        /* no file, such as "[kernel]": its parts have no names */
        if (frame.module && frame.module[0] == '[')
            frame.function =
                axp__is_own_code(frame.module) ? AXP__OWN_CODE : frame.module;
        if (frame.module &&
            !strncmp(frame.module, AXP__JIT_CODE, strlen(AXP__JIT_CODE)))
            frame.function = frame.module + strlen(AXP__JIT_CODE);
        put(p, &frame);
        return;
    }
    for (uint32_t i = 0; i < k->n; i++) {
        frame.function = k->symbol[i].name;
        frame.file = k->symbol[i].file;
        frame.line = k->symbol[i].line;
        frame.is_inlined = i + 1 < k->n;
        put(p, &frame);
    }
}

size_t axp_view_stack_sized(const axp_view *v, uint32_t stack, axp_frame *out,
                            size_t cap, size_t size)
{
    uint64_t frames[AXP__STACK_MOST];
    struct place to = {(char *)out, 0, out ? cap : 0, size};
    if (!v) return 0;
    if (stack == AXP__STACK_NO_ROOM) {
        put(&to, &(axp_frame){.function = "(no room)"});
        return to.n;
    }
    struct axp__stack_names *s = v->stack_names;
    const uint8_t *bytes = axp__cap_stack(s->c, stack);
    size_t part = axp__cap_stack_part(s->c, stack);
    size_t n = bytes ? axp__cap_frames(bytes, frames, AXP__STACK_MOST) : 0;
    pthread_mutex_lock(&s->mutex);
    for (size_t i = 0; i < n; i++) {
        /* A return address is behind the call; a sample begins where it was. */
        bool is_exact = !i && stack >= AXP__STACKS_OUTSIDE;
        put_frames(&to, get_known(s, frames[i] - !is_exact, part), frames[i]);
    }
    pthread_mutex_unlock(&s->mutex);
    return to.n;
}

/* ---- coming and going ------------------------------------------------------------------ */

struct axp__stack_names *axp__stack_names_create(const struct axp__capture *c)
{
    struct axp__stack_names *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->c = c;
    s->parts = calloc(c->n_processes + 1, sizeof *s->parts);
    if (s->parts && !pthread_mutex_init(&s->mutex, NULL)) return s;
    free(s->parts);
    free(s);
    return NULL;
}

bool axp__stack_names_look_in(struct axp__stack_names *s,
                              struct axp__folders folders)
{
    s->folders = calloc(folders.n + 1, sizeof(char *));
    if (!s->folders) return false;
    for (; s->n_folders < folders.n; s->n_folders++) {
        s->folders[s->n_folders] = strdup(folders.at[s->n_folders]);
        if (!s->folders[s->n_folders]) return false;
    }
    return true;
}

void axp__stack_names_destroy(struct axp__stack_names *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->cap_known; i++)
        free(s->known[i].symbol);
    for (size_t i = 0; i <= s->c->n_processes; i++) {
        free((void *)s->parts[i].at);
        free(s->parts[i].reach);
    }
    for (size_t i = 0; i < s->n_folders; i++)
        free((char *)(uintptr_t)s->folders[i]);
    free((void *)s->folders);
    free(s->parts);
    free(s->known);
    axp__symbolizer_destroy(s->symbols);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}
