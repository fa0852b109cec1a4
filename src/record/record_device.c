/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of devices; see record_device.h. */
#include "record/record_device.h"

static uint32_t type_of(enum axp__name_kind kind, uint32_t device)
{
    return AXP__KIND_FLAGS(kind) | AXP__DEVICE_FLAGS(device);
}

/* Registers what a device has by its number. */
static bool make(uint32_t number, const char *text)
{
    struct axp__device d = {
        axp__name_register_of(type_of(AXP__KIND_DEVICE, number), text, NULL),
        axp__name_register_of(type_of(AXP__KIND_SPECIAL, number), "(other)",
                              NULL),
        axp__name_register_of(type_of(AXP__KIND_SPECIAL, number), "(unnamed)",
                              NULL)};
    if (d.name == AXP__NAME_OTHER || d.other == AXP__NAME_OTHER ||
        d.unnamed == AXP__NAME_OTHER)
        return false;
    axp__process()->device[number] = d;
    return true;
}

uint32_t axp__device_get(const char *text, bool *is_shared)
{
    struct axp__process *p = axp__process();
    uint32_t n = 1;
    *is_shared = false;
    for (; n <= p->n_devices; n++)
        if (axp__name_find_of(type_of(AXP__KIND_DEVICE, n), text) ==
            p->device[n].name)
            return n;
    if (n == AXP__DEVICE_OTHER) {
        *is_shared = true;
        bool is_there = p->device[n].name || make(n, AXP__DEVICE_OTHER_TEXT);
        return is_there ? n : 0;
    }
    if (!make(n, text)) return 0;
    return p->n_devices = n;
}

uint32_t axp__device_name(struct axp__prof *p, uint32_t device,
                          const char *name)
{
    const struct axp__device *d = &axp__process()->device[device];
    if (!name || !*name) {
        axp__warn(p, AXP__WARN_BAD_NAME, d->unnamed);
        return d->unnamed;
    }
    uint32_t id =
        axp__name_register_of(type_of(AXP__KIND_PLAIN, device), name, NULL);
    if (id != AXP__NAME_OTHER) return id;
    axp__warn(p, AXP__WARN_NAMES_FULL, d->other);
    return d->other;
}
