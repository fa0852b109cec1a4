/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heads of recordings; see record_head.h. */
#include "record/record_head.h"

#include <stdlib.h>
#include <string.h>

#include "os/os_about.h"
#include "os/os_clock.h"
#include "record/record_tape.h"

void axp__head_run_id(uint8_t out[16])
{
    const char *hex = secure_getenv("AXPROF_RUN_ID");
    if (!hex || strlen(hex) != 32) {
        axp__random_bytes(out, 16);
        return;
    }
    for (int i = 0; i < 16; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        out[i] = (uint8_t)strtoul(two, NULL, 16);
    }
}

void axp__head_clock(struct axp__file_head *head)
{
    struct axp__clock_pair pair = axp__clock_pair_now();
    head->version = AXP__FILE_VERSION;
    axp__about_boot_id(head->boot_id);
    head->clock.ticks = pair.ticks;
    head->clock.monotonic_ns = pair.monotonic_ns;
    head->clock.realtime_ns = pair.realtime_ns;
    head->clock_source = axp__get(&axp__clock_source);
}
