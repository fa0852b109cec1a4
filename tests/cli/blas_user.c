/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that uses a BLAS and prints what it computed, to the last bit.
 *
 *   blas_user [REPEATS]          the BLAS that it is linked with
 *   blas_user REPEATS PLUGIN     the same in a plug-in that nobody else sees,
 *                                loaded and unloaded twice
 *
 *   blas_user REPEATS PLUGIN PLUGIN ...
 *                                as many threads, which open and close one
 *                                after the other, 1,000 times
 *   blas_user -N                 N ddot of 3 each in a child and in the parent,
 *                                which end by _exit
 *   blas_user large N            N sgemm of 400 x 400 x 400
 *
 * Each repeat: 2 sgemm of 48 x 32 x 40 (by Fortran's name and by C's), a dgemm
 * of 17 x 19 x 23, an sgemv of 33 x 29 and a ddot of 1000.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void sgemm_(const char *, const char *, const int *, const int *,
                   const int *, const float *, const float *, const int *,
                   const float *, const int *, const float *, float *,
                   const int *, size_t, size_t);
extern void dgemm_(const char *, const char *, const int *, const int *,
                   const int *, const double *, const double *, const int *,
                   const double *, const int *, const double *, double *,
                   const int *, size_t, size_t);
extern void sgemv_(const char *, const int *, const int *, const float *,
                   const float *, const int *, const float *, const int *,
                   const float *, float *, const int *, size_t);
extern double ddot_(const int *, const double *, const int *, const double *,
                    const int *);
extern void cblas_sgemm(int, int, int, int, int, int, float, const float *, int,
                        const float *, int, float, float *, int);

#ifndef NO_BLAS
static float fs[3][4096];
static double ds[3][4096];

static void fill(void)
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4096; k++) {
            ds[i][k] = (double)((k * 7919 + i * 104729) % 1009) / 1009 - 0.5;
            fs[i][k] = (float)ds[i][k];
        }
}

__attribute__((visibility("default"))) double blas_compute(int repeats);
double blas_compute(int repeats)
{
    const int m = 48, n = 32, k = 40, dm = 17, dn = 19, dk = 23, vm = 33,
              vn = 29, one = 1, len = 1000;
    const float f_one = 1, f_half = 0.5f;
    const double d_one = 1, d_half = 0.5;
    double sum = 0;
    fill();
    for (int i = 0; i < repeats; i++) {
        sgemm_("N", "N", &m, &n, &k, &f_one, fs[0], &m, fs[1], &k, &f_half,
               fs[2], &m, 1, 1);
        cblas_sgemm(101, 111, 111, m, n, k, 1, fs[0], k, fs[1], n, 0.5f, fs[2],
                    n);
        dgemm_("T", "N", &dm, &dn, &dk, &d_one, ds[0], &dk, ds[1], &dk, &d_half,
               ds[2], &dm, 1, 1);
        sgemv_("N", &vm, &vn, &f_one, fs[0], &vm, fs[1], &one, &f_half, fs[2],
               &one, 1);
        sum += ddot_(&len, ds[2], &one, ds[1], &one);
    }
    for (int i = 0; i < 4096; i++)
        sum += (double)fs[2][i] * (i + 1) + ds[2][i] / (i + 1);
    return sum;
}
#endif

#ifndef PLUGIN
static int from_plugin(const char *path, int repeats)
{
    for (int i = 0; i < 2; i++) {
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        double (*compute)(int) = NULL;
        if (plugin) *(void **)(void *)&compute = dlsym(plugin, "blas_compute");
        if (!compute) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        printf("%a\n", compute(repeats));
        dlclose(plugin);
    }
    return 0;
}

#ifndef NO_BLAS
static void compute_little(int n)
{
    const double three[] = {1, 2, 3};
    const int length = 3, one = 1;
    double sum = 0;
    pid_t child = fork();
    for (int i = 0; i < n; i++)
        sum += ddot_(&length, three, &one, three, &one);
    if (child > 0) waitpid(child, NULL, 0);
    _exit(sum != 14.0 * n);
}

static int compute_much(int n)
{
    static float large[3][400 * 400];
    for (int i = 0; i < n; i++)
        cblas_sgemm(101, 111, 111, 400, 400, 400, 1, large[0], 400, large[1],
                    400, 0, large[2], 400);
    return 0;
}
#endif

static struct {
    char **paths;
    int n, repeats;
} plugins;

static void *open_often(void *first)
{
    for (int i = 0; i < 1000; i++) {
        char *path = plugins.paths[(i + (int)(intptr_t)first) % plugins.n];
        double (*compute)(int) = NULL;
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (plugin) *(void **)(void *)&compute = dlsym(plugin, "blas_compute");
        if (!compute) return path;
        compute(plugins.repeats);
        dlclose(plugin);
    }
    return NULL;
}

static int by_threads(int n)
{
    pthread_t threads[8];
    int n_failed = 0;
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, open_often, (void *)(intptr_t)i))
            return 1;
    for (int i = 0; i < n; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        n_failed += failed != NULL;
    }
    printf("%d failed\n", n_failed);
    return 0;
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 1;
#ifndef NO_BLAS
    if (argc == 3 && !strcmp(argv[1], "large"))
        return compute_much(atoi(argv[2]));
    if (repeats < 0) compute_little(-repeats);
#endif
    plugins.paths = argv + 2;
    plugins.n = argc - 2;
    plugins.repeats = repeats;
    if (argc > 3) return by_threads(argc < 10 ? argc - 2 : 8);
    if (argc > 2) return from_plugin(argv[2], repeats);
#ifndef NO_BLAS
    printf("%a\n", blas_compute(repeats));
#endif
    return 0;
}
#endif
