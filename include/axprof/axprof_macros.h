/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_macros.h: how the macros that axprof.h describes are made. Include
 * axprof.h, which includes this.
 *
 * Cost       a scope that is on is one load, a branch and the two calls; what
 *            refuses misuse is declarations alone and leaves no code.
 * Refused    a name that is no literal: a static assertion. A brace-less if: the
 *            first declaration is then the if's own, and the second refers to
 *            it by a name that says what to do. A jump past a scope: clang and
 *            C++ refuse it; for gcc a type that varies stands in front of the
 *            scope, and C lets nothing jump past that. co_await: axprof_cpp.hpp.
 */
#ifndef AXPROF_MACROS_H
#define AXPROF_MACROS_H
#include "axprof.h"

#ifdef __cplusplus
#include "axprof_cpp.hpp"
extern "C" {
#endif

/* These are the macros' own: call them through the macros only. */
AXP__HOT uint64_t axp__scope_begin_flops(uint32_t *site, const char *text,
                                         double flops, double bytes,
                                         axp_dtype dtype);
AXP__HOT uint64_t axp__scope_begin_work(uint32_t *site, const char *text,
                                        const axp_work *work, size_t size);
AXP__HOT uint64_t axp__scope_begin_function(uint32_t *site, const char *name,
                                            const char *place);
AXP_API void axp__name_place(const char *name, const char *place);
/* Bit 0: the global profiler records. Bit 1: named scopes that were open when
 * it was disabled may still be stopped. */
AXP_API extern uint8_t axp__recording;

static inline bool axp__is_on(void)
{
    return __builtin_expect(
        (__atomic_load_n(&axp__recording, __ATOMIC_RELAXED) & 1) != 0, 1);
}

/* Work without dims goes in registers: what is not said costs nothing. */
static inline uint64_t axp__scope_begin_with(uint32_t *site, const char *text,
                                             const axp_work work)
{
    /* The one whose address is taken; number by number, since what was written
     * so is slow to be read in larger pieces. */
    const axp_work copy = {work.flops,
                           work.bytes,
                           work.dtype,
                           {work.dims[0], work.dims[1], work.dims[2],
                            work.dims[3], work.dims[4], work.dims[5]}};
    if (work.dims[0])
        return axp__scope_begin_work(site, text, &copy, sizeof copy);
    return axp__scope_begin_flops(site, text, work.flops, work.bytes,
                                  work.dtype);
}

static inline void axp__scope_cleanup(const uint64_t *token)
{
    if (*token) axp_end(*token);
}

/* The name, and once for each place that gives it where that is. */
static inline const char *axp__placed(unsigned char *is_told, const char *name,
                                      const char *place)
{
    if (!__atomic_load_n(is_told, __ATOMIC_RELAXED)) {
        __atomic_store_n(is_told, 1, __ATOMIC_RELAXED);
        axp__name_place(name, place);
    }
    return name;
}

static inline void axp__track_alloc_kind(const char *name, const void *ptr,
                                         size_t bytes, axp_mem kind)
{
    axp_alloc alloc;
    __builtin_memset(&alloc, 0, sizeof alloc);
    alloc.size = sizeof alloc;
    alloc.name = name;
    alloc.ptr = ptr;
    alloc.bytes = bytes;
    alloc.kind = kind;
    axp_record_alloc_ex(axp_global(), &alloc);
}

#ifdef __cplusplus
}
#endif

#define AXP__JOIN2(a, b) a##b
#define AXP__JOIN(a, b) AXP__JOIN2(a, b)
#define AXP__TEXT2(a) #a
#define AXP__TEXT(a) AXP__TEXT2(a)
#define AXP__PLACE __FILE__ "\0" AXP__TEXT(__LINE__)

#ifdef __cplusplus
#define AXP__NAME(name) axp::detail::name_of(name, 0)
#define AXP__ASSERT(n, condition, say, text) static_assert(condition, text)
/* As it is written, since a constant of another kind cannot be joined. */
#define AXP__IS_LITERAL(name)                                                  \
    (sizeof(AXP__TEXT2(name)) > 2 &&                                           \
     AXP__TEXT2(name)[sizeof(AXP__TEXT2(name)) - 2] == '"')
#else
#define AXP__NAME(name) (name)
#if __STDC_VERSION__ >= 201112L
#define AXP__ASSERT(n, condition, say, text) _Static_assert(condition, text)
#else /* there glibc has a macro of that name, which says nothing */
#define AXP__ASSERT(n, condition, say, text)                                   \
    enum {                                                                     \
        AXP__JOIN(axp__assert_, n) =                                           \
            sizeof(struct { int say : (condition) ? 2 : -1; })                 \
    }
#endif
#define AXP__IS_LITERAL(name) __builtin_constant_p(name)
#define AXP__NO_CO_AWAIT
#endif

#if defined(__cplusplus) || defined(__clang__)
#define AXP__NO_JUMP(n)
#else
#define AXP__NO_JUMP(n)                                                        \
    _Pragma("GCC diagnostic push")                                             \
        _Pragma("GCC diagnostic ignored \"-Wvla\"") __extension__ typedef char \
            AXP__JOIN(axp__no_jump_may_pass_this_scope_, n)[((void)0, 1)]      \
        __attribute__((unused));                                               \
    _Pragma("GCC diagnostic pop")
#endif

/* The first declaration of every scope, which the others refer to. */
#define AXP__SITE(n) AXP__JOIN(axp__put_braces_around_this_scope_, n)
#define AXP__NO_SITE(n)                                                        \
    enum { AXP__SITE(n) = 1 };                                                 \
    AXP__ASSERT(n, AXP__SITE(n), is_there, "")
#define AXP__LITERAL(n, name, macro)                                           \
    AXP__ASSERT(n, AXP__IS_LITERAL(name),                                      \
                takes_a_literal_else_use_AXP_SCOPE_NAME,                       \
                macro " takes a string literal: for any other string there "   \
                      "is AXP_SCOPE_NAME, with AXP_ADD_WORK")
#define AXP__TOKEN(n)                                                          \
    AXP__NO_JUMP(n)                                                            \
    AXP__NO_CO_AWAIT                                                           \
    const uint64_t AXP__JOIN(axp__token_, n)                                   \
        __attribute__((cleanup(axp__scope_cleanup), unused))

#define AXP__SCOPE(n, name)                                                    \
    static uint32_t AXP__SITE(n);                                              \
    AXP__LITERAL(n, name, "AXP_SCOPE");                                        \
    AXP__TOKEN(n) =                                                            \
        axp__is_on() ? axp_begin_site(&AXP__SITE(n), "" name "\0" AXP__PLACE)  \
                     : 0
#define AXP__SCOPE_WORK(n, name, say, ...)                                     \
    static uint32_t AXP__SITE(n);                                              \
    AXP__LITERAL(n, name, say);                                                \
    AXP__TOKEN(n) =                                                            \
        axp__is_on()                                                           \
            ? axp__scope_begin_with(&AXP__SITE(n), "" name "\0" AXP__PLACE,    \
                                    __VA_ARGS__)                               \
            : 0
#ifdef __cplusplus
#define AXP__SCOPE_FUNCTION(n)                                                 \
    static uint32_t AXP__SITE(n);                                              \
    static constexpr auto AXP__JOIN(axp__function_, n) =                       \
        axp::detail::function_of<axp::detail::size_of(__PRETTY_FUNCTION__)>(   \
            __PRETTY_FUNCTION__);                                              \
    AXP__TOKEN(n) = axp__is_on()                                               \
                        ? axp__scope_begin_function(                           \
                              &AXP__SITE(n),                                   \
                              AXP__JOIN(axp__function_, n).text, AXP__PLACE)   \
                        : 0
#else
#define AXP__SCOPE_FUNCTION(n)                                                 \
    static uint32_t AXP__SITE(n);                                              \
    AXP__TOKEN(n) =                                                            \
        axp__is_on()                                                           \
            ? axp__scope_begin_function(&AXP__SITE(n), __func__, AXP__PLACE)   \
            : 0
#endif
#define AXP__SCOPE_NAME(n, name)                                               \
    AXP__NO_SITE(n);                                                           \
    AXP__TOKEN(n) = axp__is_on() ? axp_begin(axp_global(), AXP__NAME(name)) : 0
#define AXP__SCOPE_IN(n, p, name)                                              \
    AXP__NO_SITE(n);                                                           \
    AXP__TOKEN(n) = axp_begin(p, AXP__NAME(name))

#define AXP__WORK(...) (__extension__(axp_work){__VA_ARGS__})
#define AXP__IF_ON(call) (axp__is_on() ? (call) : (void)0)
/* The same with names that are given here (AXP__NAME_HERE): in one expression,
 * which a name may not outlive. */
#define AXP__PLACED(call)                                                      \
    AXP__IF_ON(__extension__({                                                 \
        static unsigned char axp__is_told;                                     \
        call;                                                                  \
    }))
#define AXP__NAME_HERE(name)                                                   \
    axp__placed(&axp__is_told, AXP__NAME(name), AXP__PLACE)
/* Used, functions and captured variables too, and not evaluated. */
#define AXP__UNUSED(x) ((void)(0 ? ((void)(x), 0) : 0))
#define AXP__UNUSED_WORK(...)                                                  \
    ((void)(0 ? __extension__({                                                \
        const axp_work axp__unused = {__VA_ARGS__};                            \
        (void)axp__unused;                                                     \
        0;                                                                     \
    })                                                                         \
              : 0))

#ifndef AXP_DISABLE
#define AXP_SCOPE(name) AXP__SCOPE(__COUNTER__, name)
#define AXP_FUNCTION() AXP__SCOPE_FUNCTION(__COUNTER__)
#define AXP_SCOPE_NAME(name) AXP__SCOPE_NAME(__COUNTER__, name)
#define AXP_SCOPE_IN(p, name) AXP__SCOPE_IN(__COUNTER__, p, name)
#define AXP_SCOPE_WORK(name, ...)                                              \
    AXP__SCOPE_WORK(__COUNTER__, name, "AXP_SCOPE_WORK", AXP__WORK(__VA_ARGS__))
#define AXP_SCOPE_WORK_OF(name, ...)                                           \
    AXP__SCOPE_WORK(__COUNTER__, name, "AXP_SCOPE_WORK_OF", __VA_ARGS__)
#define AXP_START(name) AXP__IF_ON(axp_start(axp_global(), AXP__NAME(name)))
#define AXP_START_WORK(name, ...)                                              \
    AXP__IF_ON(                                                                \
        axp_start_work(axp_global(), AXP__NAME(name), AXP__WORK(__VA_ARGS__)))
#define AXP_START_WORK_OF(name, ...)                                           \
    AXP__IF_ON(axp_start_work(axp_global(), AXP__NAME(name), __VA_ARGS__))
#define AXP_STOP(name)                                                         \
    (__atomic_load_n(&axp__recording, __ATOMIC_RELAXED)                        \
         ? axp_stop(axp_global(), AXP__NAME(name))                             \
         : (void)0)
#define AXP_ADD_WORK(...)                                                      \
    AXP__IF_ON(axp_add_work(axp_global(), AXP__WORK(__VA_ARGS__)))
#define AXP_ADD_WORK_OF(...) AXP__IF_ON(axp_add_work(axp_global(), __VA_ARGS__))
#define AXP_CATEGORY(cat) AXP__IF_ON(axp_category(axp_global(), cat))
#define AXP_ALLOC(name, bytes)                                                 \
    AXP__PLACED(axp_record_alloc(axp_global(), AXP__NAME_HERE(name), bytes))
#define AXP_FREE(name, bytes)                                                  \
    AXP__IF_ON(axp_record_free(axp_global(), AXP__NAME(name), bytes))
#define AXP_TRACK_ALLOC(name, ptr, bytes)                                      \
    AXP__PLACED(axp_track_alloc(axp_global(), AXP__NAME_HERE(name), ptr, bytes))
#define AXP_TRACK_ALLOC_KIND(name, ptr, bytes, kind)                           \
    AXP__PLACED(axp__track_alloc_kind(AXP__NAME_HERE(name), ptr, bytes, kind))
#define AXP_TRACK_FREE(ptr) AXP__IF_ON(axp_track_free(axp_global(), ptr))
#define AXP_STEP() AXP__IF_ON(axp_step(axp_global()))
#define AXP_COUNTER(name, value)                                               \
    AXP__IF_ON(axp_counter(axp_global(), AXP__NAME(name), value))
#define AXP_INSTANT(name) AXP__IF_ON(axp_instant(axp_global(), AXP__NAME(name)))
#define AXP_EVENT(name, type, metadata)                                        \
    AXP__IF_ON(                                                                \
        axp_event(axp_global(), AXP__NAME(name), type, AXP__NAME(metadata)))
#define AXP_ASYNC_BEGIN(name, id)                                              \
    AXP__IF_ON(axp_async_begin(axp_global(), AXP__NAME(name), id))
#define AXP_FLOW_OUT(id) AXP__IF_ON(axp_flow_out(axp_global(), id))
#define AXP_FLOW_IN(id) AXP__IF_ON(axp_flow_in(axp_global(), id))
/* What counts while the profiler is off as well. */
#define AXP_ASYNC_END(name, id) axp_async_end(axp_global(), AXP__NAME(name), id)
#define AXP_THREAD_NAME(name) axp_thread_name(axp_global(), AXP__NAME(name))
#define AXP_CALL(call) ((void)(call))
#else
#define AXP_SCOPE(name) ((void)sizeof("" name ""))
#define AXP_FUNCTION() ((void)0)
#define AXP_SCOPE_NAME(name) AXP__UNUSED(name)
#define AXP_SCOPE_IN(p, name) (AXP__UNUSED(p), AXP__UNUSED(name))
#define AXP_SCOPE_WORK(name, ...)                                              \
    ((void)sizeof("" name ""), AXP__UNUSED_WORK(__VA_ARGS__))
#define AXP_START(name) AXP__UNUSED(name)
#define AXP_START_WORK(name, ...)                                              \
    (AXP__UNUSED(name), AXP__UNUSED_WORK(__VA_ARGS__))
#define AXP_SCOPE_WORK_OF(name, ...)                                           \
    ((void)sizeof("" name ""), AXP__UNUSED((__VA_ARGS__)))
#define AXP_START_WORK_OF(name, ...)                                           \
    (AXP__UNUSED(name), AXP__UNUSED((__VA_ARGS__)))
#define AXP_STOP(name) AXP__UNUSED(name)
#define AXP_ADD_WORK(...) AXP__UNUSED_WORK(__VA_ARGS__)
#define AXP_ADD_WORK_OF(...) AXP__UNUSED((__VA_ARGS__))
#define AXP_CATEGORY(cat) AXP__UNUSED(cat)
#define AXP_ALLOC(name, bytes) (AXP__UNUSED(name), AXP__UNUSED(bytes))
#define AXP_FREE(name, bytes) (AXP__UNUSED(name), AXP__UNUSED(bytes))
#define AXP_TRACK_ALLOC(name, ptr, bytes)                                      \
    (AXP__UNUSED(name), AXP__UNUSED(ptr), AXP__UNUSED(bytes))
#define AXP_TRACK_ALLOC_KIND(name, ptr, bytes, kind)                           \
    (AXP_TRACK_ALLOC(name, ptr, bytes), AXP__UNUSED(kind))
#define AXP_TRACK_FREE(ptr) AXP__UNUSED(ptr)
#define AXP_STEP() ((void)0)
#define AXP_COUNTER(name, value) (AXP__UNUSED(name), AXP__UNUSED(value))
#define AXP_INSTANT(name) AXP__UNUSED(name)
#define AXP_EVENT(name, type, metadata)                                        \
    (AXP__UNUSED(name), AXP__UNUSED(type), AXP__UNUSED(metadata))
#define AXP_ASYNC_BEGIN(name, id) (AXP__UNUSED(name), AXP__UNUSED(id))
#define AXP_ASYNC_END(name, id) (AXP__UNUSED(name), AXP__UNUSED(id))
#define AXP_FLOW_OUT(id) AXP__UNUSED(id)
#define AXP_FLOW_IN(id) AXP__UNUSED(id)
#define AXP_THREAD_NAME(name) AXP__UNUSED(name)
#define AXP_CALL(call) AXP__UNUSED(call)
#endif

#endif
