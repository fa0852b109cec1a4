/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The kernel's page of clocks; see os_vvar.h.
 *
 * A record, in words of 8 bytes, with or without the third:
 *
 *   sequence (low half), clock mode (high half)
 *   the counter when the kernel last read it
 *   the most ticks that may have passed since
 *   mask
 *   mult (low half), shift (high half) */
#include "os/os_vvar.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define PAGE_WORDS (PAGE_BYTES / 8)
#define MODE_COUNTER 1u
/* Linux 6.18 has six pages before the vdso, older ones three or four. */
#define MOST_PAGES 8u
/* A kernel that idles reads its clock after some minutes at the latest; it may
 * just have done so, on another CPU. */
#define MOST_TICKS ((uint64_t)1 << 44)

struct record {
    uint64_t mult;
    uint32_t shift;
};

static bool is_kept_by_counter(const volatile uint64_t *head, uint64_t now)
{
    uint64_t since = now - head[1];
    return head[0] >> 32 == MODE_COUNTER && since + MOST_TICKS < 2 * MOST_TICKS;
}

/* The mask of a record is word i. */
static bool get_record(const volatile uint64_t *page, size_t i, uint64_t now,
                       struct record *out)
{
    if (page[i] != UINT64_MAX) return false;
    if (!is_kept_by_counter(page + i - 2, now) &&
        !(i >= 3 && is_kept_by_counter(page + i - 3, now)))
        return false;
    uint64_t rate = page[i + 1];
    *out = (struct record){(uint32_t)rate, (uint32_t)(rate >> 32)};
    return out->mult && out->shift && out->shift <= 32;
}

uint64_t axp__vvar_mult_of_page(const volatile uint64_t *page, uint64_t now)
{
    struct record bent, raw;
    size_t i = 2;
    while (i < PAGE_WORDS - 1 && !get_record(page, i, now, &bent))
        i++;
    for (i++; i < PAGE_WORDS - 1; i++) {
        if (!get_record(page, i, now, &raw)) continue;
        uint64_t apart =
            raw.mult > bent.mult ? raw.mult - bent.mult : bent.mult - raw.mult;
        if (raw.shift != bent.shift || apart > raw.mult / 512) return 0;
        return raw.mult << (32 - raw.shift);
    }
    return 0;
}

#if defined(__x86_64__)
/* Pages without anything behind them would raise SIGBUS. The kernel copies
 * the set before it refuses what to do with it. */
static bool is_readable(const void *page)
{
    return syscall(SYS_rt_sigprocmask, ~0, page, NULL, (size_t)8) != 0 &&
           errno == EINVAL;
}

uint64_t axp__vvar_mult(void)
{
    int keep = errno;
    uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
    uint64_t mult = 0;
    for (uintptr_t n = 1; vdso && !mult && n <= MOST_PAGES; n++) {
        const void *page = (const void *)(vdso - n * PAGE_BYTES);
        if (is_readable(page))
            mult = axp__vvar_mult_of_page(page, __builtin_ia32_rdtsc());
    }
    errno = keep;
    return mult;
}
#else
uint64_t axp__vvar_mult(void)
{
    return 0;
}
#endif
