/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Processor, caches and quota as the kernel has them; see machine_cpu.h. */
#include "machine/machine_cpu.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "os/os_cgroup.h"

#define KB 1024ull
#define PATH 600
#define MB (1024 * KB)

/* What a small file begins with, ended by 0; false: it is not there. */
static bool read_text(const char *root, const char *path, char *out,
                      size_t size)
{
    char whole[PATH];
    if ((size_t)snprintf(whole, sizeof whole, "%s%s", root, path) >=
        sizeof whole)
        return false;
    int fd = open(whole, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    for (ssize_t n; fd >= 0 && len + 1 < size; len += (size_t)n) {
        n = read(fd, out + len, size - 1 - len);
        if (n <= 0) break;
    }
    if (fd >= 0) close(fd);
    out[len] = 0;
    return fd >= 0;
}

/* ---- processor ----------------------------------------------------------- */

/* The value of the first line with that label; false: there is none. */
static bool line_value(const char *text, const char *label, char *out,
                       size_t size)
{
    const char *at = strstr(text, label);
    if (!at) return false;
    at += strlen(label);
    at += strspn(at, " \t:");
    size_t len = strcspn(at, "\n");
    snprintf(out, size, "%.*s", (int)len, at);
    return *out;
}

/* The kernel has numbers alone for these. */
static const char *arm_part(unsigned implementer, unsigned part)
{
    static const struct {
        unsigned implementer, part;
        const char *name;
    } known[] = {{0x41, 0xd03, "Cortex-A53"},  {0x41, 0xd07, "Cortex-A57"},
                 {0x41, 0xd08, "Cortex-A72"},  {0x41, 0xd0b, "Cortex-A76"},
                 {0x41, 0xd0c, "Neoverse-N1"}, {0x41, 0xd40, "Neoverse-V1"},
                 {0x41, 0xd49, "Neoverse-N2"}, {0x41, 0xd4f, "Neoverse-V2"},
                 {0x41, 0xd84, "Neoverse-V3"}, {0x41, 0xd8e, "Neoverse-N3"},
                 {0x46, 0x001, "A64FX"},       {0xc0, 0xac3, "Ampere-1"},
                 {0xc0, 0xac4, "Ampere-1a"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].implementer == implementer && known[i].part == part)
            return known[i].name;
    return NULL;
}

/* Printable, in one line, with something in it. */
static void tidy(char *text)
{
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    if (!*text) strcpy(text, "unknown");
}

static void look_at_processor(struct axp__machine *m, const char *root)
{
    char text[4096], implementer[32], part[32];
    struct utsname u;
    if (!uname(&u)) snprintf(m->arch, sizeof m->arch, "%.20s", u.machine);
    read_text(root, "/proc/cpuinfo", text, sizeof text);
    if (!line_value(text, "model name", m->cpu, sizeof m->cpu) &&
        line_value(text, "CPU implementer", implementer, sizeof implementer) &&
        line_value(text, "CPU part", part, sizeof part)) {
        const char *name = arm_part((unsigned)strtoul(implementer, NULL, 0),
                                    (unsigned)strtoul(part, NULL, 0));
        if (name)
            snprintf(m->cpu, sizeof m->cpu, "%s", name);
        else
            snprintf(m->cpu, sizeof m->cpu, "%s %s part %s", m->arch,
                     implementer, part);
    }
    tidy(m->cpu);
    tidy(m->arch);
}

/* ---- CPUs ------------------------------------------------------------------ */

/* "0-3,8": how many; 0: that is no list. */
static unsigned count_list(const char *text)
{
    unsigned n = 0;
    while (*text >= '0' && *text <= '9') {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (*end == '-') last = strtoul(end + 1, &end, 10);
        if (last < first || last - first >= 1 << 20) return 0;
        n += (unsigned)(last - first + 1);
        text = *end == ',' ? end + 1 : "";
    }
    return n;
}

static unsigned read_count(const char *root, const char *path)
{
    char text[4096];
    return read_text(root, path, text, sizeof text) ? count_list(text) : 0;
}

size_t axp__cpu_allowed(int *out, size_t cap)
{
    size_t n = 0;
    cpu_set_t *set = CPU_ALLOC(AXP__MOST_CPUS * 8);
    size_t size = CPU_ALLOC_SIZE(AXP__MOST_CPUS * 8);
    if (!set) return 0;
    CPU_ZERO_S(size, set);
    if (!sched_getaffinity(0, size, set))
        for (int i = 0; i < AXP__MOST_CPUS * 8 && n < cap; i++)
            if (CPU_ISSET_S(i, size, set)) out[n++] = i;
    CPU_FREE(set);
    return n;
}

/* Of the CPUs that are online, how many have another value of this. */
static unsigned count_distinct(const char *root, unsigned n_cpus,
                               const char *what, const char *more)
{
    char path[128], text[64];
    uint64_t seen[AXP__MOST_CPUS];
    unsigned n = 0;
    for (unsigned i = 0; i < n_cpus && i < AXP__MOST_CPUS; i++) {
        unsigned k = 0;
        uint64_t value = 0;
        const char *parts[] = {what, more};
        for (int p = 0; p < 2 && parts[p]; p++) {
            snprintf(path, sizeof path,
                     "/sys/devices/system/cpu/cpu%u/topology/%s", i, parts[p]);
            if (!read_text(root, path, text, sizeof text)) return 0;
            value = value << 32 | (uint32_t)strtol(text, NULL, 10);
        }
        while (k < n && seen[k] != value)
            k++;
        if (k == n) seen[n++] = value;
    }
    return n;
}

static void look_at_cpus(struct axp__machine *m, const char *root)
{
    unsigned n = read_count(root, "/sys/devices/system/cpu/online");
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    m->n_cpus = n ? n : online > 0 ? (unsigned)online : 1;
    m->n_cores =
        count_distinct(root, m->n_cpus, "core_id", "physical_package_id");
    m->n_sockets = count_distinct(root, m->n_cpus, "physical_package_id", NULL);
    m->n_nodes = read_count(root, "/sys/devices/system/node/online");
    if (!m->n_cores) m->n_cores = m->n_cpus;
    if (!m->n_sockets) m->n_sockets = 1;
    if (!m->n_nodes) m->n_nodes = 1;
}

/* ---- quota ------------------------------------------------------------------ */

/* "200000 100000" of version 2; -1: no limit. */
static double read_max(const struct axp__cgroup *g)
{
    char text[64], *end;
    if (!axp__cgroup_read(g, "cpu.max", text, sizeof text)) return -1;
    double quota = (double)strtoull(text, &end, 10);
    double period = (double)strtoull(end, NULL, 10);
    return end > text && period > 0 ? quota / period : -1;
}

static double read_cfs(const struct axp__cgroup *g)
{
    char text[64];
    if (!axp__cgroup_read(g, "cpu.cfs_quota_us", text, sizeof text)) return -1;
    double quota = (double)strtoll(text, NULL, 10);
    if (!axp__cgroup_read(g, "cpu.cfs_period_us", text, sizeof text)) return -1;
    double period = (double)strtoll(text, NULL, 10);
    return quota > 0 && period > 0 ? quota / period : -1;
}

static void note_quota(void *ctx, const struct axp__cgroup *g)
{
    double *least = ctx, is = g->is_second ? read_max(g) : read_cfs(g);
    if (is > 0 && (*least <= 0 || is < *least)) *least = is;
}

double axp__cpu_quota(const char *root)
{
    double least = 0;
    axp__cgroup_walk(root, "cpu", note_quota, &least);
    return least;
}

/* ---- levels of memory --------------------------------------------------------- */

static struct axp__machine_memory *level_of(struct axp__machine *m,
                                            axp_level level)
{
    for (size_t i = 0; i < m->n_memory; i++)
        if (m->memory[i].level == level) return &m->memory[i];
    struct axp__machine_memory *new = &m->memory[m->n_memory++];
    *new = (struct axp__machine_memory){.level = level, .shared = 1};
    return new;
}

static uint64_t read_size(const char *text)
{
    char *end;
    uint64_t n = strtoull(text, &end, 10);
    if (n > 1 << 30) return 0;
    return *end == 'K' ? n * KB : *end == 'M' ? n * MB : n;
}

static bool look_at_cache(struct axp__machine *m, const char *root, int cpu,
                          int index)
{
    char path[128], text[4096];
    int folder =
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/cache/index%d/", cpu, index);
    char *file = path + folder;
    strcpy(file, "level");
    if (!read_text(root, path, text, sizeof text)) return false;
    int level = text[0] - '0';
    strcpy(file, "type");
    if (level < 1 || level > 3 || !read_text(root, path, text, sizeof text) ||
        !strncmp(text, "Instruction", 11))
        return true;
    strcpy(file, "size");
    if (!read_text(root, path, text, sizeof text)) return true;
    uint64_t bytes = read_size(text);
    if (!bytes) return true;
    struct axp__machine_memory *is = level_of(m, (axp_level)level);
    is->bytes = bytes;
    strcpy(file, "shared_cpu_list");
    unsigned shared =
        read_text(root, path, text, sizeof text) ? count_list(text) : 0;
    if (shared) is->shared = shared;
    return true;
}

/* Where the kernel does not say: the C library, or what is usual. */
static void guess_caches(struct axp__machine *m)
{
    const struct {
        int name;
        long usual;
    } caches[] = {{_SC_LEVEL1_DCACHE_SIZE, 32 * KB},
                  {_SC_LEVEL2_CACHE_SIZE, 512 * KB},
                  {_SC_LEVEL3_CACHE_SIZE, 0}};
    for (int i = 0; i < 3; i++) {
        long bytes = sysconf(caches[i].name);
        if (bytes <= 0) bytes = caches[i].usual;
        if (bytes > 0)
            level_of(m, (axp_level)(AXP_LEVEL_L1 + i))->bytes = (uint64_t)bytes;
    }
}

static void look_at_memory(struct axp__machine *m, const char *root)
{
    int cpu = 0;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    axp__cpu_allowed(&cpu, 1);
    for (int i = 0; i < 8; i++)
        if (!look_at_cache(m, root, cpu, i)) break;
    if (!m->n_memory) guess_caches(m);
    struct axp__machine_memory *all = level_of(m, AXP_LEVEL_MEMORY);
    all->bytes = pages > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    all->shared = m->n_cpus;
}

uint64_t axp__cpu_room(const char *root)
{
    char text[4096], value[32];
    uint64_t room = 256 * MB, limit = axp__cgroup_read_memory(root, NULL);
    if (read_text(root, "/proc/meminfo", text, sizeof text) &&
        line_value(text, "MemAvailable", value, sizeof value))
        room = strtoull(value, NULL, 10) * KB;
    if (limit / 2 < room) room = limit / 2;
    return room / 8;
}

void axp__cpu_identify(struct axp__machine *m, const char *root)
{
    int allowed[AXP__MOST_CPUS];
    look_at_processor(m, root);
    m->n_allowed = (uint32_t)axp__cpu_allowed(allowed, AXP__MOST_CPUS);
    if (!m->n_allowed) m->n_allowed = 1;
    m->quota = axp__cpu_quota(root);
    m->n_threads = m->n_allowed;
    if (m->quota > 0 && m->quota < m->n_threads)
        m->n_threads = m->quota < 2 ? 1 : (uint32_t)m->quota;
}

void axp__cpu_look(struct axp__machine *m, const char *root)
{
    axp__cpu_identify(m, root);
    look_at_cpus(m, root);
    look_at_memory(m, root);
}
