/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Texts about process and machine; the keys are in docs/trace-format.md. */
#include "os/os_about.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "os/os_cgroup.h"
#include "os/os_file.h"
#include "os/os_namespace.h"
#include "os/os_secret.h"

#define VALUE_MAX 4096u

/* The whole allow list. */
static const char *const variables[] = {
    "OMP_NUM_THREADS",
    "OMP_THREAD_LIMIT",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_SCHEDULE",
    "OMP_DYNAMIC",
    "OMP_WAIT_POLICY",
    "OMP_MAX_ACTIVE_LEVELS",
    "OMP_STACKSIZE",
    "GOMP_CPU_AFFINITY",
    "GOMP_SPINCOUNT",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "BLIS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "MKL_DYNAMIC",
    "MKL_ENABLE_INSTRUCTIONS",
    "NUMEXPR_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "PMI_RANK",
    "PMI_SIZE",
    "PMIX_RANK",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NTASKS",
    "SLURM_NODEID",
    "SLURM_JOB_ID",
    "MALLOC_ARENA_MAX",
    "AXPROF_WINDOW",
};

struct teller {
    axp__about_fn put;
    void *ctx;
    bool is_done;
};

static void tell(struct teller *t, const char *key, const char *value,
                 size_t len)
{
    if (!t->is_done && len) t->is_done = !t->put(t->ctx, key, value, len);
}

static void tell_text(struct teller *t, const char *key, const char *value)
{
    if (value) tell(t, key, value, strnlen(value, VALUE_MAX));
}

static void tell_number(struct teller *t, const char *key, uint64_t value)
{
    char text[24];
    tell(
        t, key, text,
        (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)value));
}

/* What a small file begins with, ended by 0; its length. */
static size_t read_start(const char *path, char *out, size_t size)
{
    size_t len = 0;
    int fd = axp__fd_open(path, O_RDONLY | O_CLOEXEC, 0);
    while (fd >= 0 && len + 1 < size) {
        ssize_t n = axp__fd_read(fd, out + len, size - 1 - len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        len += (size_t)n;
    }
    if (fd >= 0) axp__fd_close(fd);
    out[len] = 0;
    return len;
}

/* ---- process ------------------------------------------------------------------- */

/* AXPROF_ARGS=0: the program's name alone. Values that look like secrets are
 * hidden in any case. */
static void tell_arguments(struct teller *t)
{
    char from[VALUE_MAX], text[VALUE_MAX];
    const char *wanted = secure_getenv("AXPROF_ARGS");
    size_t len = read_start("/proc/self/cmdline", from, sizeof from);
    if (wanted && !strcmp(wanted, "0")) len = strnlen(from, len);
    while (len && !from[len - 1])
        len--;
    len = axp__secret_hide(from, len, text, sizeof text);
    for (size_t i = 0; i < len; i++)
        if (!text[i]) text[i] = 0x1f; /* ASCII's unit separator */
    tell(t, "arguments", text, len);
}

static void tell_program(struct teller *t)
{
    char text[VALUE_MAX];
    ssize_t n = readlink("/proc/self/exe", text, sizeof text);
    if (n > 0) tell(t, "program", text, (size_t)n);
    tell_arguments(t);
    tell_text(t, "directory", getcwd(text, sizeof text));
}

/* Of process ids: what they are worth elsewhere. */
static void tell_namespace(struct teller *t)
{
    uint64_t number = axp__pid_namespace(0);
    if (number) tell_number(t, "pid_namespace", number);
}

static void tell_environment(struct teller *t)
{
    char key[64];
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = secure_getenv(variables[i]);
        if (!value) continue;
        snprintf(key, sizeof key, "env.%s", variables[i]);
        tell_text(t, key, value);
    }
}

int32_t axp__about_rank(void)
{
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK",
                                        "PMI_RANK", "PMIX_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = secure_getenv(names[i]);
        int32_t rank = 0;
        size_t k = 0;
        for (; text && k < 9 && text[k] >= '0' && text[k] <= '9'; k++)
            rank = rank * 10 + (text[k] - '0');
        if (k && !text[k]) return rank;
    }
    return -1;
}

/* ---- machine ---------------------------------------------------------------------- */

void axp__about_boot_id(uint8_t out[16])
{
    char text[64];
    int keep = errno;
    unsigned n = 0;
    memset(out, 0, 16);
    read_start("/proc/sys/kernel/random/boot_id", text, sizeof text);
    for (const char *s = text; *s && n < 32; s++) {
        int digit = *s >= '0' && *s <= '9'   ? *s - '0'
                    : *s >= 'a' && *s <= 'f' ? *s - 'a' + 10
                                             : -1;
        if (digit < 0) continue;
        out[n / 2] = (uint8_t)(out[n / 2] << 4 | digit);
        n++;
    }
    errno = keep;
}

/* The value of the first line that begins with `label`, "" if there is none;
 * its length. */
static size_t line_value(const char *text, const char *label,
                         const char **value)
{
    const char *line = strstr(text, label);
    *value = "";
    if (!line) return 0;
    line += strlen(label);
    line += strspn(line, " \t:");
    *value = line;
    return strcspn(line, "\n");
}

static void tell_processor(struct teller *t)
{
    char text[VALUE_MAX], id[64];
    const char *value, *part;
    read_start("/proc/cpuinfo", text, sizeof text);
    size_t len = line_value(text, "model name", &value);
    if (len) {
        tell(t, "cpu", value, len);
    } else if ((len = line_value(text, "CPU implementer", &value)) != 0) {
        size_t part_len = line_value(text, "CPU part", &part);
        snprintf(id, sizeof id, "implementer %.*s part %.*s", (int)len, value,
                 (int)part_len, part);
        tell_text(t, "cpu", id);
    }
    cpu_set_t allowed;
    if (!sched_getaffinity(0, sizeof allowed, &allowed))
        tell_number(t, "cpus.allowed", (uint64_t)CPU_COUNT(&allowed));
    tell_number(t, "cpus.online", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    long page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_PHYS_PAGES);
    if (pages > 0)
        tell_number(t, "memory.bytes", (uint64_t)pages * (uint64_t)page);
    tell_number(t, "page.bytes", (uint64_t)page);
}

static void tell_system(struct teller *t)
{
    struct utsname u;
    if (uname(&u)) return;
    tell_text(t, "host", u.nodename);
    tell_text(t, "machine", u.machine);
    char text[sizeof u.sysname + sizeof u.release + 2];
    snprintf(text, sizeof text, "%s %s", u.sysname, u.release);
    tell_text(t, "system", text);
}

/* ---- limits --------------------------------------------------------------------------- */

static void tell_group(struct teller *t, const char *key, const char *file)
{
    char text[256];
    struct axp__cgroup own = {.root = "", .folder = axp__cgroup_folder()};
    if (!*own.folder) return;
    axp__cgroup_read(&own, file, text, sizeof text);
    tell(t, key, text, strcspn(text, "\n"));
}

static void tell_limits(struct teller *t)
{
    static const struct {
        const char *key;
        int which;
    } limits[] = {{"limit.address_space_bytes", RLIMIT_AS},
                  {"limit.file_bytes", RLIMIT_FSIZE},
                  {"limit.stack_bytes", RLIMIT_STACK},
                  {"limit.locked_bytes", RLIMIT_MEMLOCK},
                  {"limit.open_files", RLIMIT_NOFILE},
                  {"limit.processes", RLIMIT_NPROC}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit r;
        if (getrlimit((__rlimit_resource_t)limits[i].which, &r)) continue;
        if (r.rlim_cur != RLIM_INFINITY)
            tell_number(t, limits[i].key, r.rlim_cur);
    }
    tell_group(t, "limit.group_memory", "memory.max");
    tell_group(t, "limit.group_cpu", "cpu.max");
}

static void tell_run(struct teller *t)
{
    tell_program(t);
    tell_namespace(t);
    tell_system(t);
    tell_processor(t);
}

void axp__about_run(axp__about_fn put, void *ctx)
{
    struct teller t = {put, ctx, false};
    int keep = errno;
    tell_run(&t);
    errno = keep;
}

void axp__about_process(axp__about_fn put, void *ctx)
{
    struct teller t = {put, ctx, false};
    int keep = errno;
    tell_run(&t);
    tell_limits(&t);
    errno = keep;
}

void axp__about_environment(axp__about_fn put, void *ctx)
{
    struct teller t = {put, ctx, false};
    tell_environment(&t);
}
