/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* As much of NVTX's client side as a test needs: what a program's copy of its
 * header does with NVTX_INJECTION64_PATH, for machines that do not have that
 * header. With it (NVTX_REAL) the same test is built with the real one. */
#ifndef NVTX_CLIENT_H
#define NVTX_CLIENT_H
#ifdef NVTX_REAL
#include <nvtx3/nvToolsExt.h>
#else
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomain *nvtxDomainHandle_t;
typedef struct nvtxString *nvtxStringHandle_t;
typedef struct nvtxEventAttributes_t {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    union {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;
    int32_t messageType;
    union {
        const char *ascii;
        const wchar_t *unicode;
        nvtxStringHandle_t registered;
    } message;
} nvtxEventAttributes_t;
#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
#define NVTX_MESSAGE_TYPE_ASCII 1
#define NVTX_MESSAGE_TYPE_REGISTERED 3
#define NVTX_PAYLOAD_TYPE_DOUBLE 3

typedef void nvtx_any(void);
static nvtx_any *nvtx_core[16], *nvtx_core2[16];
static nvtx_any **nvtx_core_at[17], **nvtx_core2_at[17];

static int nvtx_table(int module, nvtx_any ****out, unsigned *size)
{
    nvtx_any **from = module == 1 ? nvtx_core : nvtx_core2;
    nvtx_any ***at = module == 1 ? nvtx_core_at : nvtx_core2_at;
    if (module != 1 && module != 5) return 0;
    for (int i = 1; i < 16; i++)
        at[i] = &from[i];
    *out = at;
    *size = 16;
    return 1;
}

static const void *nvtx_export(uint32_t id)
{
    static const struct {
        size_t size;
        int (*get)(int, nvtx_any ****, unsigned *);
    } callbacks = {sizeof callbacks, nvtx_table};
    return id == 1 ? &callbacks : NULL;
}

static inline int nvtx_begin(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*begin)(const void *(*)(uint32_t)) = NULL;
    if (library)
        *(void **)(void *)&begin = dlsym(library, "InitializeInjectionNvtx2");
    return begin && begin(nvtx_export);
}

#define NVTX_CALL(table, i, type) ((type)nvtx_##table[i])
#define nvtxMarkA(t) NVTX_CALL(core, 2, void (*)(const char *))(t)
#define nvtxRangeStartA(t) NVTX_CALL(core, 5, uint64_t (*)(const char *))(t)
#define nvtxRangeEnd(id) NVTX_CALL(core, 7, void (*)(uint64_t))(id)
#define nvtxRangePushEx(a)                                                     \
    NVTX_CALL(core, 8, int (*)(const nvtxEventAttributes_t *))(a)
#define nvtxRangePushA(t) NVTX_CALL(core, 9, int (*)(const char *))(t)
#define nvtxRangePushW(t) NVTX_CALL(core, 10, int (*)(const wchar_t *))(t)
#define nvtxRangePop() NVTX_CALL(core, 11, int (*)(void))()
#define nvtxNameOsThreadA(id, t)                                               \
    NVTX_CALL(core, 14, void (*)(uint32_t, const char *))(id, t)
#define nvtxDomainRangePushEx(d, a)                                            \
    NVTX_CALL(core2, 4,                                                        \
              int (*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *))      \
    (d, a)
#define nvtxDomainRangePop(d)                                                  \
    NVTX_CALL(core2, 5, int (*)(nvtxDomainHandle_t))(d)
#define nvtxDomainRegisterStringA(d, t)                                        \
    NVTX_CALL(core2, 10,                                                       \
              nvtxStringHandle_t (*)(nvtxDomainHandle_t, const char *))        \
    (d, t)
#define nvtxDomainCreateA(t)                                                   \
    NVTX_CALL(core2, 12, nvtxDomainHandle_t (*)(const char *))(t)
#endif
#endif
