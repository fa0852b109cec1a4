/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the installed BLAS reaches: products in single precision of a few
 * shapes, on one thread and on all.
 *
 * It is loaded in a child: a library may start threads, print or crash when it
 * is loaded, and nobody asked for that. The child tells what it measured by a
 * pipe, figure by figure, and is killed when its time is up.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base_order.h"
#include "machine/machine_item.h"

#define MOST_S 3.0 /* for all of it */
#define SHAPE_S 0.22
#define TRIALS 64

typedef void sgemm_fn(const char *, const char *, const int *, const int *,
                      const int *, const float *, const float *, const int *,
                      const float *, const int *, const float *, float *,
                      const int *);

/* Small, skinny in two ways, square and large. */
static const struct {
    uint32_t m, n, k;
} shapes[] = {{64, 64, 64},
              {1024, 16, 1024},
              {1, 1024, 1024},
              {512, 512, 512},
              {1024, 1024, 1024}};
#define N_SHAPES (sizeof shapes / sizeof *shapes)

struct message { /* from the child */
    uint32_t shape;
    bool is_all;
    struct axp__figure figure;
    char name[AXP__MACHINE_NAME];
};

/* ---- the child ------------------------------------------------------------------ */

struct blas {
    sgemm_fn *sgemm;
    void (*set_threads)(int); /* NULL: not known */
    char name[AXP__MACHINE_NAME];
};

static void find(void *library, const char *name, void *out)
{
    void *found = dlsym(library, name);
    memcpy(out, &found, sizeof found);
}

/* The first that is there. */
static bool load(struct blas *b)
{
    static const char *const names[] = {"libopenblas.so.0",    "libmkl_rt.so.2",
                                        "libmkl_rt.so",        "libblis.so.4",
                                        "libarmpl_lp64_mp.so", "libblas.so.3",
                                        "libopenblas.so",      "libblas.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) continue;
        find(library, "sgemm_", &b->sgemm);
        find(library, "openblas_set_num_threads", &b->set_threads);
        if (!b->set_threads)
            find(library, "MKL_Set_Num_Threads", &b->set_threads);
        if (!b->set_threads)
            find(library, "bli_thread_set_num_threads", &b->set_threads);
        const char *(*config)(void);
        find(library, "openblas_get_config", &config);
        snprintf(b->name, sizeof b->name, "%s%s%s", names[i], config ? " " : "",
                 config ? config() : "");
        if (b->sgemm) return true;
    }
    return false;
}

/* A first product that is not small: until then OpenBLAS 0.3.21 takes 2.4 times
 * as long for one of 64 x 64 x 64, however often that is repeated. */
static void warm_up(const struct blas *b, float *memory)
{
    int n = 256;
    float one = 1, zero = 0, *c = memory + n * n, *to = c + n * n;
    b->sgemm("N", "N", &n, &n, &n, &one, memory, &n, c, &n, &zero, to, &n);
}

static struct axp__figure measure_shape(const struct blas *b, size_t i,
                                        float *memory)
{
    int m = (int)shapes[i].m, n = (int)shapes[i].n, k = (int)shapes[i].k;
    float one = 1, zero = 0, *a = memory, *c = a + 1024 * 1024,
          *to = c + 1024 * 1024;
    double flops = 2.0 * m * n * k, rates[TRIALS];
    double end = axp__crew_now() + SHAPE_S;
    int trials = 0, times = flops < 1e8 ? (int)(1e8 / flops) : 1;
    while (trials < 3 || (trials < TRIALS && axp__crew_now() < end)) {
        double began = axp__crew_now();
        for (int t = 0; t < times; t++)
            b->sgemm("N", "N", &m, &n, &k, &one, a, &m, c, &k, &zero, to, &m);
        rates[trials++] = flops * times / (axp__crew_now() - began);
    }
    qsort(rates, (size_t)trials, sizeof *rates, axp__by_f64);
    double best = rates[trials - 1];
    return (struct axp__figure){best, 1 - rates[trials / 2] / best};
}

static void be_child(int fd, uint32_t n_threads)
{
    struct blas b = {0};
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    signal(SIGSEGV, SIG_DFL);
    float *memory = malloc(3 * 1024 * 1024 * sizeof *memory);
    if (!memory || !load(&b)) _exit(0);
    for (size_t i = 0; i < 3 * 1024 * 1024; i++)
        memory[i] = (float)(i % 13) * 0.125f;
    for (int is_all = 1; is_all >= 0; is_all--) {
        if (!b.set_threads && !is_all) break;
        if (b.set_threads) b.set_threads(is_all ? (int)n_threads : 1);
        warm_up(&b, memory);
        for (uint32_t i = 0; i < N_SHAPES; i++) {
            struct message msg = {i, is_all, measure_shape(&b, i, memory), ""};
            memcpy(msg.name, b.name, sizeof msg.name);
            if (write(fd, &msg, sizeof msg) != sizeof msg) _exit(1);
        }
    }
    _exit(0);
}

/* ---- the parent ------------------------------------------------------------------- */

static void take(struct axp__machine *m, const struct message *msg)
{
    if (msg->shape >= N_SHAPES) return;
    struct axp__machine_blas *to = &m->blas[msg->shape];
    *(msg->is_all ? &to->all : &to->one) = msg->figure;
    snprintf(m->blas_name, sizeof m->blas_name, "%.*s",
             (int)sizeof msg->name - 1, msg->name);
}

static void listen_to(struct axp__items *s, struct axp__machine *m, int fd)
{
    double end = axp__crew_now() + MOST_S;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    while (axp__crew_now() < end) {
        struct message msg;
        if (axp__items_tell(s, 1, "BLAS")) return;
        int n = poll(&wait, 1, 50);
        if (n < 0 && errno != EINTR) return;
        if (n <= 0) continue;
        if (read(fd, &msg, sizeof msg) != sizeof msg) return;
        take(m, &msg);
    }
}

void axp__blas_measure(struct axp__items *s, struct axp__machine *m)
{
    int fds[2], status;
    if (pipe2(fds, O_CLOEXEC)) return;
    pid_t pid = fork();
    if (!pid) be_child(fds[1], m->n_threads);
    close(fds[1]);
    if (pid > 0) {
        for (uint32_t i = 0; i < N_SHAPES; i++)
            m->blas[i] = (struct axp__machine_blas){
                .m = shapes[i].m, .n = shapes[i].n, .k = shapes[i].k};
        listen_to(s, m, fds[0]);
        kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        if (*m->blas_name) m->n_blas = N_SHAPES;
    }
    close(fds[0]);
}
