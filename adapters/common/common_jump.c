/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Jumps that are seen; see common_jump.h. */
#include "adapters/common/common_jump.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WRAPPER __attribute__((visibility("default"), noreturn))

typedef void jump(struct __jmp_buf_tag *, int);

static void (*tell_of)(void);

void common_jump_tell(void (*tell)(void))
{
    tell_of = tell;
}

#define JUMPS                                                                  \
    JUMP(longjmp)                                                              \
    JUMP(_longjmp)                                                             \
    JUMP(siglongjmp)                                                           \
    JUMP(__longjmp_chk)

static struct {
#define JUMP(name) jump *name;
    JUMPS
#undef JUMP
} real;

/* Before main, for a handler must not look for them. */
__attribute__((constructor)) static void load(void)
{
    void *found;
#define JUMP(name)                                                             \
    found = dlsym(RTLD_NEXT, #name);                                           \
    memcpy(&real.name, &found, sizeof found);
    JUMPS
#undef JUMP
}

#define JUMP(name)                                                             \
    WRAPPER void name(struct __jmp_buf_tag *to, int value);                    \
    WRAPPER void name(struct __jmp_buf_tag *to, int value)                     \
    {                                                                          \
        if (tell_of) tell_of();                                                \
        if (!real.name) load();                                                \
        real.name(to, value);                                                  \
        abort(); /* none of them comes back */                                 \
    }
JUMPS
