/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Causes in how data comes in and goes out: read or decoded in the step, read
 * too slowly beside it, written with a wait for the disk, fetched in pieces.
 * And a loader that is ahead of the steps. */
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "diagnosis_cause.h"

#define STEPS 60

/* ---- a loader beside the steps ------------------------------------------------------- */

static sem_t full, empty;
static double load_units, decode_units; /* beside the steps; in them */

static __attribute__((noinline)) void load_batch(double units)
{
    uint64_t scope = cause_begin("load_batch");
    cause_data();
    TIMED_SPIN(units * CAUSE_UNIT * cause_jitter());
    axp_end(scope);
}

static __attribute__((noinline)) void decode_batch(double units)
{
    uint64_t scope = cause_begin("decode_batch");
    cause_data();
    TIMED_SPIN(units * CAUSE_UNIT * cause_jitter());
    axp_end(scope);
}

static void load_and_step(int me)
{
    for (int i = 0; i < STEPS; i++) {
        if (me) {
            sem_wait(&empty);
            load_batch(load_units);
            sem_post(&full);
        } else {
            sem_wait(&full);
            sem_post(&empty);
            if (decode_units) decode_batch(decode_units);
            cause_compute(12);
            cause_step();
        }
    }
}

static void run_loader(double load, double decode)
{
    load_units = load;
    decode_units = decode;
    sem_init(&full, 0, 0);
    sem_init(&empty, 0, 2);
    cause_pair(load_and_step);
}

static void run_late(void)
{
    run_loader(10 + 5 * cause_k, 0);
}

static void run_decode(void)
{
    run_loader(6 - 3 * cause_k, 3 * cause_k);
}

static void run_ahead(void)
{
    run_loader(9, 0);
}

/* ---- what a step waits for -------------------------------------------------------------- */

static __attribute__((noinline)) void receive_gradients(int timer)
{
    uint64_t n, scope = cause_begin("receive_gradients");
    struct itimerspec in = {.it_value = {0, (long)(1e6 * cause_k)}};
    if (timerfd_settime(timer, 0, &in, NULL)) abort();
    if (read(timer, &n, sizeof n) != sizeof n) abort();
    axp_end(scope);
}

static void run_receive(void)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    for (int i = 0; i < STEPS; i++) {
        cause_compute(20);
        if (cause_k) receive_gradients(timer);
        cause_step();
    }
    close(timer);
}

/* ---- files -------------------------------------------------------------------------------- */

static char block[1 << 16];

static int make_file(void)
{
    char name[] = "diagnosis.XXXXXX";
    int file = mkstemp(name);
    if (file < 0 || unlink(name)) abort();
    return file;
}

#define PIECES 8

/* What a step has learnt, of which so many pieces are on the disk before it goes
 * on. */
static __attribute__((noinline)) void save_state(int file, int n_synced)
{
    uint64_t scope = cause_begin("save_state");
    const size_t size = sizeof block / PIECES;
    for (int i = 0; i < PIECES; i++) {
        if (pwrite(file, block, size, (off_t)(size * (size_t)i)) !=
            (ssize_t)size)
            abort();
        if (i < n_synced && fsync(file)) abort();
    }
    axp_end(scope);
}

static void run_fsync(void)
{
    int file = make_file();
    for (int i = 0; i < STEPS; i++) {
        cause_compute(8);
        save_state(file, (int)(PIECES / 2 * cause_k));
        cause_step();
    }
    close(file);
}

/* A file in pieces of 16 bytes, or in blocks. */
static __attribute__((noinline)) void read_tokens(int file)
{
    uint64_t scope = cause_begin("read_tokens");
    size_t small = (size_t)(cause_k / 2 * sizeof block), at = 0;
    for (; at < small; at += 16)
        if (pread(file, block, 16, (off_t)at) != 16) abort();
    if (pread(file, block, sizeof block, 0) != sizeof block) abort();
    axp_end(scope);
}

static void run_pieces(void)
{
    int file = make_file();
    if (pwrite(file, block, sizeof block, 0) != sizeof block) abort();
    for (int i = 0; i < STEPS; i++) {
        cause_compute(8);
        read_tokens(file);
        cause_step();
    }
    close(file);
}

const struct cause causes[] = {
    {"late", "InputBound", "load_batch", NULL, run_late, 0},
    {"decode", "InputBound", "decode_batch", NULL, run_decode, 0},
    {"receive", "IoWait", "receive_gradients", "*", run_receive, 0},
    {"fsync", "IoWait", "save_state", "save_state", run_fsync, 0},
    {"pieces", "IoWait|SlowOperation", "read_tokens", NULL, run_pieces, 0},
    {"healthy_ahead", NULL, NULL, NULL, run_ahead, 0},
    {0}};
