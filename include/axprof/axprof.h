/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof.h: record what a neural-network program does. This header is the
 * manual of the recording side; axprof_read.h is that of views and reports.
 *
 *   #include <axprof/axprof.h>
 *
 *   void layer(int n) {
 *       AXP_SCOPE_WORK("matmul", .flops = 2.0 * n * n * n);
 *       ...
 *   }                                       // the scope ends with its block
 *
 * Link with -laxprof_rt (recording and the quick answers: libc and pthread
 * alone) or -laxprof (views and reports too).
 *
 * Place      what a program calls. Everything is callable from any thread, at
 *            any time: before main, in atexit handlers, on a profiler that
 *            another thread is destroying; the recording calls in a signal
 *            handler too.
 * Cost       a scope is two clock reads and a few stores. No recording call
 *            waits for another thread, calls malloc, or changes errno; memory
 *            is mapped only at a thread's first event, at a change of chunk,
 *            for a new name, for a new place in the call tree and for the
 *            first duration of another order in an operation's histogram.
 * Wrong use  never harms: it is counted, and shown among the warnings.
 * Strings    are copied before the call returns; NULL and "" are counted as
 *            wrong use and recorded as "(unnamed)".
 * Growth     structs that a caller fills begin with their size, or 0: that of
 *            the first version; axp_work's goes beside it. Fields are added at
 *            the end, values to enums, and nothing is taken away.
 */
#ifndef AXPROF_H
#define AXPROF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AXP_VERSION "0.1.0" /* of this header */

#ifndef AXP_API
#define AXP_API __attribute__((visibility("default")))
#endif

/* Called without a detour through the procedure linkage table. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define AXP__HOT AXP_API __attribute__((noplt))
#endif
#endif
#ifndef AXP__HOT
#define AXP__HOT AXP_API
#endif

/* On what makes something that its caller has to release. */
#if defined(__cplusplus) && __cplusplus >= 201703L ||                          \
    defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202000L
#define AXP__NODISCARD [[nodiscard]]
#else
#define AXP__NODISCARD
#endif

#ifdef __cplusplus
#define AXP__ZERO = {} /* so that partial initialisers do not warn in C++ */
#define AXP__INT : int /* so that a later version's values are values */
extern "C" {
#else
#define AXP__ZERO
#define AXP__INT
#endif

typedef uint64_t axp_ns; /* nanoseconds */
typedef struct axp_profiler axp_profiler;
typedef struct axp_track axp_track; /* a row of its own: device queue, link */

/* Of the library that is loaded: "0.1.0". It may be newer than this header, or
 * older, back to the first one that had the calls that a program makes. */
AXP_API const char *axp_version(void);

/* ---- errors ------------------------------------------------------------- */
typedef enum axp_status AXP__INT {
    AXP_OK = 0,
    AXP_E_NOT_FOUND = -1, /* no such operation, name, file */
    AXP_E_STATE = -2,     /* not possible now */
    AXP_E_IO = -3,
    AXP_E_FORMAT = -4,  /* malformed or unknown data */
    AXP_E_INVALID = -6, /* bad argument or option */
    AXP_E_NO_MEMORY = -7,
    AXP_E_UNSUPPORTED = -9,
    AXP_E_DAMAGED = -10 /* done with what is left: parts are missing */
} axp_status;
AXP_API const char *axp_strerror(axp_status status);
/* This thread's last failure as a sentence; never NULL. */
AXP_API const char *axp_last_error(void);

/* ---- profilers ---------------------------------------------------------- */
enum { AXP_START_DISABLED = 1, AXP_NO_TIMELINE = 2, AXP_OVERWRITE = 4 };
/* What a program may want to say of a recording as it goes: that its file
 * begins, is complete, or cannot be written; and at the end every warning that
 * a report would show. Called by axp_profiler_create, axp_flush, axp_finish,
 * axp_profiler_destroy and by the thread that writes the file, and never by a
 * recording call. It may record; it must make no other call of axprof's. */
enum { AXP_LOG_ERROR = 1, AXP_LOG_WARNING = 2, AXP_LOG_INFO = 3 };
typedef void (*axp_log_fn)(int level, const char *message, void *ctx);

typedef struct axp_options { /* all zero = defaults */
    size_t size;             /* sizeof(axp_options), or 0 */
    const char *title;       /* of the run, in reports; default: program name */
    const char *path;        /* record to this file; NULL: memory only */
    /* A view shows exactly the newest N events; 0: what memory_limit holds. */
    uint64_t timeline_capacity;
    /* Bytes of the pool and accumulators, at most 1 TiB; default 64 MiB, or
     * a sixteenth of what the control group allows; at least what
     * timeline_capacity needs. A thread that is there takes 24 to 52 KiB more.
     * Call paths that find no room fold into "(other)". Operations do not: they may
     * take four times as much again, 2 to 3 KiB for each name on a thread. */
    uint64_t memory_limit;
    /* Bytes the spool may grow to; default 1 GiB. Never more than a twentieth of
     * what the control group allows. */
    uint64_t spool_limit;
    uint64_t file_limit; /* bytes of the .axp; 0: none */
    uint32_t flags;
    axp_log_fn log; /* NULL: silent */
    void *log_ctx;
} axp_options;

/* options may be NULL. NULL on failure: see axp_last_error(). */
AXP__NODISCARD AXP_API axp_profiler *axp_profiler_create(
    const axp_options *options);
AXP_API void axp_profiler_destroy(axp_profiler *p); /* NULL allowed */
/* Freezes: nothing is recorded after it; the file, if any, is complete. */
AXP_API axp_status axp_finish(axp_profiler *p);
AXP_API axp_status axp_flush(axp_profiler *p); /* all so far is in the file */
/* Created on first use; never NULL, never destroyed. */
AXP_API axp_profiler *axp_global(void);
/* The global profiler, which the macros use, records to this file from its first
 * event on: called before that, else AXP_E_STATE. "%p" stands for the process
 * id; a file that is there stays, AXP_E_STATE. Where AXPROF_OUT or axprof run
 * has chosen a file already that one stays: AXP_OK. options.path is the file of
 * a profiler that the program makes for itself. */
AXP_API axp_status axp_global_open(const char *path);
AXP_API void axp_set_enabled(axp_profiler *p, bool enabled);
AXP_API bool axp_is_enabled(const axp_profiler *p);
/* Forgets everything, open scopes too; time starts at 0. */
AXP_API void axp_reset(axp_profiler *p);
AXP_API axp_ns axp_now(const axp_profiler *p); /* since creation or reset */
AXP_API void axp_thread_name(axp_profiler *p, const char *name);

/* ---- work --------------------------------------------------------------- */
typedef enum axp_dtype AXP__INT {
    AXP_DTYPE_UNKNOWN,
    AXP_F64,
    AXP_F32,
    AXP_TF32,
    AXP_F16,
    AXP_BF16,
    AXP_F8,
    AXP_I8,
    AXP_C64,
    AXP_C128
} axp_dtype;
typedef struct axp_work {   /* 0 = not declared, shown as unknown */
    double flops AXP__ZERO; /* 1 multiply-add = 2 */
    double bytes AXP__ZERO; /* read and written */
    axp_dtype dtype AXP__ZERO;
    uint32_t dims
        [6] AXP__ZERO; /* M,N,K of a product, or the tensor's shape; 0 ends */
} axp_work;
/* axprof_work.h, included below, has it for the usual layers by their shapes:
 * axp_work_gemm, _bmm, _conv2d, _attention, _layernorm, _softmax, _elementwise,
 * _embedding, each with its _backward; _sgd, _momentum, _adam, _adamw. */

/* ---- scopes ------------------------------------------------------------- */
/* By token, for objects, bindings and generated code; the macros below are made
 * of these. The token, which is 0 if nothing was begun, is ended once, by any
 * thread; ending 0 does nothing. Scopes of a thread nest: one that ends takes
 * those above it that have not ended with it. */
AXP__HOT uint64_t axp_begin(axp_profiler *p, const char *name);
AXP__HOT void axp_end(uint64_t token);
/* The same for a place in a program, in the global profiler: name, file and line
 * are one text with 0 bytes between ("layer\0net.py\00012"; file and line may be
 * empty). The site, which is 0 at first and lives as long as the program,
 * remembers the text, so that the next time it is not looked at. */
AXP__HOT uint64_t axp_begin_site(uint32_t *site, const char *text);
/* With work; size is sizeof(axp_work). */
AXP__HOT uint64_t axp_begin_site_work(uint32_t *site, const char *text,
                                      const axp_work *work, size_t size);
/* A string that has a length and no end, as every call takes it: axprof's own
 * copy, which ends and lives as long as the program, and is found faster than
 * others. Equal names are one pointer; a 0 byte ends a name; "" of NULL or
 * nothing. */
AXP_API const char *axp_name(const char *text, size_t length);

/* By name: any string, freely nested or overlapping, across threads. A stop
 * takes this thread's newest open one of that name, else the oldest of
 * another thread. */
AXP_API void axp_start(axp_profiler *p, const char *name);
AXP_API void axp_start_work_sized(axp_profiler *p, const char *name,
                                  const axp_work *work, size_t size);
static inline void axp_start_work(axp_profiler *p, const char *name,
                                  axp_work work)
{
    axp_start_work_sized(p, name, &work, sizeof work);
}
AXP_API void axp_stop(axp_profiler *p, const char *name);
/* To the innermost open scope of this thread. */
AXP_API void axp_add_work_sized(axp_profiler *p, const axp_work *work,
                                size_t size);
static inline void axp_add_work(axp_profiler *p, axp_work work)
{
    axp_add_work_sized(p, &work, sizeof work);
}

typedef enum axp_cat AXP__INT {
    AXP_CAT_NONE,
    AXP_CAT_FORWARD,
    AXP_CAT_BACKWARD,
    AXP_CAT_OPTIMIZER,
    AXP_CAT_DATA,
    AXP_CAT_COMM,
    AXP_CAT_SYNC,
    AXP_CAT_COPY,
    AXP_CAT_IO
} axp_cat;
/* Of the innermost open scope; its children inherit it. */
AXP_API void axp_category(axp_profiler *p, axp_cat cat);

/* ---- memory ------------------------------------------------------------- */
typedef enum axp_mem AXP__INT {
    AXP_MEM_NONE,
    AXP_MEM_WEIGHT,
    AXP_MEM_GRADIENT,
    AXP_MEM_OPTIMIZER,
    AXP_MEM_ACTIVATION,
    AXP_MEM_TEMPORARY,
    AXP_MEM_INPUT,
    AXP_MEM_CACHE
} axp_mem;
typedef struct axp_alloc {
    size_t size;      /* sizeof(axp_alloc), or 0 */
    const char *name; /* NULL: the innermost open scope's */
    const void *ptr;  /* NULL: by name and size alone */
    size_t bytes;
    axp_mem kind;
    void *const *stack; /* return addresses, innermost first; NULL: none */
    uint32_t n_frames;
} axp_alloc;
AXP_API void axp_record_alloc(axp_profiler *p, const char *name, size_t bytes);
/* Unknown: lowers current, never below 0, and warns. */
AXP_API void axp_record_free(axp_profiler *p, const char *name, size_t bytes);
/* A block of malloc that `axprof run` follows (every one, not a sample) ends
 * with free or realloc as well, where nobody says so. */
AXP_API void axp_track_alloc(axp_profiler *p, const char *name, const void *ptr,
                             size_t bytes);
AXP_API void axp_track_free(axp_profiler *p, const void *ptr);
AXP_API void axp_record_alloc_ex(axp_profiler *p, const axp_alloc *alloc);

/* ---- timeline ----------------------------------------------------------- */
typedef enum axp_event_type AXP__INT {
    AXP_EVENT_START,
    AXP_EVENT_END,
    AXP_EVENT_INSTANT,
    AXP_EVENT_ALLOC,
    AXP_EVENT_FREE,
    AXP_EVENT_CUSTOM,
    AXP_EVENT_COUNTER,
    AXP_EVENT_STEP
} axp_event_type;
/* Timeline only, no statistics; metadata may be NULL. */
AXP_API void axp_event(axp_profiler *p, const char *name, axp_event_type type,
                       const char *metadata);
AXP_API void axp_instant(axp_profiler *p, const char *name);
AXP_API void axp_counter(axp_profiler *p, const char *name, double value);
/* Ends the process-wide step that ran since the previous mark, or the start. */
AXP_API void axp_step(axp_profiler *p);
/* Requests, transfers: any thread ends them. */
AXP_API void axp_async_begin(axp_profiler *p, const char *name, uint64_t id);
AXP_API void axp_async_end(axp_profiler *p, const char *name, uint64_t id);
/* An arrow from the innermost open scope here … to the one there. */
AXP_API void axp_flow_out(axp_profiler *p, uint64_t id);
AXP_API void axp_flow_in(axp_profiler *p, uint64_t id);

/* Rows with explicit times, in axp_now()'s clock; spans count as operations
 * like scopes. A track lives as long as its profiler. */
AXP__NODISCARD AXP_API axp_track *axp_track_create(axp_profiler *p,
                                                   const char *name);
/* work may be NULL. */
static inline void axp_track_span(axp_track *t, const char *name, axp_ns begin,
                                  axp_ns end, const axp_work *work);
AXP_API void axp_track_alloc_at(axp_track *t, const char *name,
                                uint64_t address, size_t bytes, axp_ns at);
AXP_API void axp_track_free_at(axp_track *t, uint64_t address, axp_ns at);

/* Tracks of a device. What is recorded on them is the device's: an operation
 * there is another than the host's of the same name, and memory there is in no
 * total of the host's. Tracks of one device and process share its addresses: a
 * block may be allocated on one and freed on another. A process has up to 254
 * devices; further ones are counted, and are all "(other devices)". */
typedef struct axp_track_options {
    size_t size; /* sizeof(axp_track_options), or 0 */
    const char *name;
    const char *device;  /* "cuda:0"; NULL: none, the host */
    uint64_t process_id; /* whose track it is; 0: this process's */
} axp_track_options;
AXP__NODISCARD AXP_API axp_track *axp_track_create_ex(
    axp_profiler *p, const axp_track_options *options);
typedef struct axp_span { /* zero: none, not known */
    size_t size;          /* sizeof(axp_span), or 0 */
    const char *name;
    axp_ns begin, end;
    const axp_work *work;
    size_t work_size; /* sizeof(axp_work), or 0 */
    axp_cat category;
    /* The id that the scope which caused it gave to axp_flow_out: exports draw
     * the arrow from there to the span. */
    uint64_t flow;
    uint64_t step; /* 1 + the number of its step; 0: by its time */
} axp_span;
AXP_API void axp_track_span_ex(axp_track *t, const axp_span *span);
static inline void axp_track_span(axp_track *t, const char *name, axp_ns begin,
                                  axp_ns end, const axp_work *work)
{
    axp_span span;
    __builtin_memset(&span, 0, sizeof span);
    span.size = sizeof span;
    span.name = name;
    span.begin = begin;
    span.end = end;
    span.work = work;
    span.work_size = sizeof *work;
    axp_track_span_ex(t, &span);
}
typedef struct axp_alloc_at {
    size_t size; /* sizeof(axp_alloc_at), or 0 */
    const char *name;
    uint64_t address;
    size_t bytes;
    axp_ns at;
    axp_mem kind;
} axp_alloc_at;
AXP_API void axp_track_alloc_at_ex(axp_track *t, const axp_alloc_at *alloc);

/* ---- quick answers ------------------------------------------------------ */
/* A scope that is still open counts as a call with its time so far. All are of
 * the host: devices are in views (axprof_read.h). */
AXP_API axp_ns axp_total_time(axp_profiler *p, const char *name);
AXP_API axp_ns axp_avg_time(axp_profiler *p, const char *name);
AXP_API uint64_t axp_call_count(axp_profiler *p, const char *name);
AXP_API uint64_t axp_current_memory(axp_profiler *p);
AXP_API uint64_t axp_peak_memory(axp_profiler *p);
/* The text report on standard output (libaxprof). */
AXP_API void axp_print_summary(axp_profiler *p);

/* "500 B" "1.00 KB" "1.00 MB" "1.00 GB" (1024) and "500 ns" "1.500 us"
 * "1.500 ms" "1.500 s"; return buf. */
AXP_API char *axp_format_bytes(char *buf, size_t size, uint64_t bytes);
AXP_API char *axp_format_ns(char *buf, size_t size, axp_ns ns);

#ifdef __cplusplus
}
#endif

/* ---- macros ------------------------------------------------------------- */
/* Statements that end with the enclosing block:
 *   AXP_SCOPE("literal")          global profiler; only a literal compiles
 *   AXP_SCOPE_NAME(expression)    global profiler; any string
 *   AXP_FUNCTION()                global profiler; the function's name, in C++
 *                                 with its class and namespace
 *   AXP_SCOPE_IN(p, name)         any profiler, any string
 *   AXP_SCOPE_WORK("literal", .flops = x, .bytes = y, …)
 *   AXP_SCOPE_WORK_OF("literal", work)   any axp_work: axp_work_gemm(m, n, k, t)
 * They declare something: a brace-less if or loop around one does not compile,
 * nor does a goto or a case that jumps past one into its block, nor, in C++, a
 * co_await while one is open (axprof.hpp has axp::async_scope for that).
 *
 * Expressions, for the global profiler:
 *   AXP_START(name) AXP_STOP(name) AXP_START_WORK(name, .flops = x, …)
 *   AXP_ADD_WORK(.flops = x, …) AXP_CATEGORY(cat)
 *   AXP_START_WORK_OF(name, work) AXP_ADD_WORK_OF(work)
 *   AXP_ALLOC(name, bytes) AXP_FREE(name, bytes)
 *   AXP_TRACK_ALLOC(name, ptr, bytes) AXP_TRACK_FREE(ptr)
 *   AXP_TRACK_ALLOC_KIND(name, ptr, bytes, kind)
 *   AXP_STEP() AXP_COUNTER(name, value)
 *   AXP_INSTANT(name) AXP_EVENT(name, type, metadata)
 *   AXP_ASYNC_BEGIN(name, id) AXP_ASYNC_END(name, id)
 *   AXP_FLOW_OUT(id) AXP_FLOW_IN(id) AXP_THREAD_NAME(name)
 * and AXP_CALL(call) for any other call: AXP_CALL(axp_print_summary(p)).
 *
 * With AXP_DISABLE defined they leave nothing in the object code: arguments are
 * not evaluated, and no library is needed. In C++ a name may be a std::string
 * or a std::string_view. */
#include "axprof_work.h"

#include "axprof_macros.h"

#endif
