/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A machine as text, in the user's cache and in recordings:
 *
 *   axprof-machine 1
 *   cpu Neoverse-V1
 *   …
 *   compute f32 neon 83200000000 12 166400000000 31
 *   memory L1 65536 1 124000000000 5 …
 *   end
 *
 * Lines of words; all numbers are whole ones: rates a second, spreads in
 * thousandths, so that no locale changes them. A line that begins with a word
 * that is not known is passed over: a later version may have more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_number.h"
#include "machine/machine.h"

#define MAGIC "axprof-machine 1"
#define MOST_RATE 1e18 /* nothing is faster */

static const struct {
    axp_dtype dtype;
    const char *word;
} dtypes[] = {{AXP_F64, "f64"},
              {AXP_F32, "f32"},
              {AXP_F16, "f16"},
              {AXP_BF16, "bf16"},
              {AXP_I8, "i8"}};
static const char *const levels[] = {NULL, "L1", "L2", "L3", "memory"};

const char *axp__machine_dtype_word(axp_dtype dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i].dtype == dtype) return dtypes[i].word;
    return NULL;
}

const char *axp__machine_level_word(axp_level level)
{
    return level >= AXP_LEVEL_L1 && level <= AXP_LEVEL_MEMORY ? levels[level]
                                                              : NULL;
}

/* ---- writing -------------------------------------------------------------------- */

struct text {
    char *out;
    size_t size, len;
};

static void put_word(struct text *t, const char *word)
{
    if (t->len && t->out[t->len - 1] != '\n' && *word != '\n')
        t->len = axp__append(t->out, t->size, t->len, " ");
    t->len = axp__append(t->out, t->size, t->len, word);
}

static void put_number(struct text *t, double value)
{
    char word[24];
    snprintf(word, sizeof word, "%llu", (unsigned long long)axp__whole(value));
    put_word(t, word);
}

static void put_figure(struct text *t, struct axp__figure f)
{
    put_number(t, f.best);
    put_number(t, f.spread * 1000);
}

static void put_numbers(struct text *t, const char *word, const double *of,
                        size_t n)
{
    put_word(t, word);
    for (size_t i = 0; i < n; i++)
        put_number(t, of[i]);
    put_word(t, "\n");
}

static void put_lists(struct text *t, const struct axp__machine *m)
{
    for (size_t i = 0; i < m->n_compute; i++) {
        put_word(t, "compute");
        put_word(t, axp__machine_dtype_word(m->compute[i].dtype));
        put_word(t, m->compute[i].isa);
        put_figure(t, m->compute[i].one);
        put_figure(t, m->compute[i].all);
        put_word(t, "\n");
    }
    for (size_t i = 0; i < m->n_memory; i++) {
        const struct axp__machine_memory *is = &m->memory[i];
        put_word(t, "memory");
        put_word(t, axp__machine_level_word(is->level));
        put_number(t, (double)is->bytes);
        put_number(t, (double)is->shared);
        put_figure(t, is->read_one);
        put_figure(t, is->read_all);
        put_figure(t, is->move_one);
        put_figure(t, is->move_all);
        put_word(t, "\n");
    }
    for (size_t i = 0; i < m->n_blas; i++) {
        put_word(t, "blas");
        put_number(t, m->blas[i].m);
        put_number(t, m->blas[i].n);
        put_number(t, m->blas[i].k);
        put_figure(t, m->blas[i].one);
        put_figure(t, m->blas[i].all);
        put_word(t, "\n");
    }
}

size_t axp__machine_put(const struct axp__machine *m, char *out, size_t size)
{
    struct text t = {out, size, 0};
    const double counts[] = {m->n_cpus,  m->n_allowed, m->n_threads,
                             m->n_cores, m->n_sockets, m->n_nodes};
    const double state[] = {m->quota * 1000, m->load * 100,
                            (double)m->measured_s, m->is_short, m->is_partial};
    const double threads[] = {m->fork_join_ns, m->barrier_ns};
    put_word(&t, MAGIC "\ncpu");
    put_word(&t, m->cpu);
    put_word(&t, "\narch");
    put_word(&t, m->arch);
    put_word(&t, "\n");
    put_numbers(&t, "counts", counts, 6);
    put_numbers(&t, "state", state, 5);
    put_numbers(&t, "threads", threads, 2);
    put_word(&t, "hz");
    put_figure(&t, m->hz);
    put_word(&t, "\n");
    if (*m->blas_name) {
        put_word(&t, "library");
        put_word(&t, m->blas_name);
        put_word(&t, "\n");
    }
    put_lists(&t, m);
    put_word(&t, "end\n");
    return t.len;
}

/* ---- reading ---------------------------------------------------------------------- */

struct line {
    char *at; /* what is left of it */
    bool is_bad;
};

static char *get_word(struct line *l)
{
    static char none[1];
    char *word = l->at + strspn(l->at, " ");
    size_t len = strcspn(word, " ");
    if (!len) {
        l->is_bad = true;
        return none;
    }
    l->at = word + len;
    if (*l->at) *l->at++ = 0;
    return word;
}

static double get_number(struct line *l, double most)
{
    const char *word = get_word(l);
    double value = 0;
    for (const char *c = word; *c; c++) {
        if (*c < '0' || *c > '9') l->is_bad = true;
        value = value * 10 + (*c - '0');
    }
    if (!(value <= most)) l->is_bad = true;
    return l->is_bad ? 0 : value;
}

static struct axp__figure get_figure(struct line *l)
{
    struct axp__figure f;
    f.best = get_number(l, MOST_RATE);
    f.spread = get_number(l, 1000) / 1000;
    return f;
}

/* The rest of the line, if it can be printed. */
static void get_name(struct line *l, char *out, size_t size)
{
    char *text = l->at + strspn(l->at, " ");
    size_t len = strlen(text);
    while (len && text[len - 1] == ' ')
        text[--len] = 0;
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~') l->is_bad = true;
    if (!len || len >= size) l->is_bad = true;
    if (!l->is_bad) snprintf(out, size, "%s", text);
}

static uint32_t get_count(struct line *l)
{
    double n = get_number(l, 1 << 20);
    if (n < 1) l->is_bad = true;
    return (uint32_t)n;
}

static void get_counts(struct line *l, struct axp__machine *m)
{
    m->n_cpus = get_count(l);
    m->n_allowed = get_count(l);
    m->n_threads = get_count(l);
    m->n_cores = get_count(l);
    m->n_sockets = get_count(l);
    m->n_nodes = get_count(l);
}

static void get_state(struct line *l, struct axp__machine *m)
{
    m->quota = get_number(l, 1e9) / 1000;
    m->load = get_number(l, 1e9) / 100;
    m->measured_s = (uint64_t)get_number(l, 1e12);
    m->is_short = get_number(l, 1) > 0;
    m->is_partial = get_number(l, 1) > 0;
}

static void get_threads(struct line *l, struct axp__machine *m)
{
    m->fork_join_ns = get_number(l, 1e15);
    m->barrier_ns = get_number(l, 1e15);
}

static void get_compute(struct line *l, struct axp__machine *m)
{
    struct axp__machine_compute c = {0};
    const char *word = get_word(l);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(dtypes[i].word, word)) c.dtype = dtypes[i].dtype;
    const char *isa = get_word(l);
    if (!c.dtype || strlen(isa) >= sizeof c.isa) l->is_bad = true;
    for (const char *s = isa; *s; s++)
        if (*s < ' ' || *s > '~') l->is_bad = true;
    if (!l->is_bad) strcpy(c.isa, isa);
    c.one = get_figure(l);
    c.all = get_figure(l);
    if (m->n_compute == AXP__MACHINE_COMPUTE) l->is_bad = true;
    if (!l->is_bad) m->compute[m->n_compute++] = c;
}

static void get_memory(struct line *l, struct axp__machine *m)
{
    struct axp__machine_memory is = {0};
    const char *word = get_word(l);
    for (int i = AXP_LEVEL_L1; i <= AXP_LEVEL_MEMORY; i++)
        if (!strcmp(levels[i], word)) is.level = (axp_level)i;
    is.bytes = (uint64_t)get_number(l, 1e18);
    is.shared = get_count(l);
    is.read_one = get_figure(l);
    is.read_all = get_figure(l);
    is.move_one = get_figure(l);
    is.move_all = get_figure(l);
    axp_level last =
        m->n_memory ? m->memory[m->n_memory - 1].level : AXP_LEVEL_NONE;
    if (is.level <= last || m->n_memory == AXP__MACHINE_MEMORY)
        l->is_bad = true; /* each once, and in their order */
    if (!l->is_bad) m->memory[m->n_memory++] = is;
}

static void get_blas(struct line *l, struct axp__machine *m)
{
    struct axp__machine_blas b = {0};
    b.m = get_count(l);
    b.n = get_count(l);
    b.k = get_count(l);
    b.one = get_figure(l);
    b.all = get_figure(l);
    if (m->n_blas == AXP__MACHINE_BLAS) l->is_bad = true;
    if (!l->is_bad) m->blas[m->n_blas++] = b;
}

static bool get_line(struct axp__machine *m, char *text)
{
    struct line l = {text, false};
    const char *word = get_word(&l);
    if (!strcmp(word, "cpu")) get_name(&l, m->cpu, sizeof m->cpu);
    if (!strcmp(word, "arch")) get_name(&l, m->arch, sizeof m->arch);
    if (!strcmp(word, "library"))
        get_name(&l, m->blas_name, sizeof m->blas_name);
    if (!strcmp(word, "counts")) get_counts(&l, m);
    if (!strcmp(word, "state")) get_state(&l, m);
    if (!strcmp(word, "threads")) get_threads(&l, m);
    if (!strcmp(word, "hz")) m->hz = get_figure(&l);
    if (!strcmp(word, "compute")) get_compute(&l, m);
    if (!strcmp(word, "memory")) get_memory(&l, m);
    if (!strcmp(word, "blas")) get_blas(&l, m);
    return !l.is_bad;
}

bool axp__machine_get(struct axp__machine *m, const char *text, size_t len)
{
    char copy[AXP__MACHINE_TEXT + 1];
    struct axp__machine got = {0};
    if (len > AXP__MACHINE_TEXT || memchr(text, 0, len)) return false;
    memcpy(copy, text, len);
    copy[len] = 0;
    char *line, *next = strchr(copy, '\n');
    if (!next || strncmp(copy, MAGIC, (size_t)(next - copy)) != 0 ||
        (size_t)(next - copy) != strlen(MAGIC))
        return false;
    for (line = next + 1; strncmp(line, "end\n", 5) != 0; line = next + 1) {
        next = strchr(line, '\n');
        if (!next) return false;
        *next = 0;
        if (!get_line(&got, line)) return false;
    }
    if (!*got.cpu || !*got.arch || !got.n_threads) return false;
    *m = got;
    return true;
}
