/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof.hpp: scopes as C++17 objects; header only, on top of axprof.h.
 *
 *   #include <axprof/axprof.hpp>
 *
 *   void layer(const std::string &name) {
 *       axp::scope s(name.c_str());                  // the global profiler
 *       axp::scope m(p, "matmul", {.flops = 2e9});   // p, with work (C++20
 *       ...                                          // names the fields)
 *   }                                 // ends here, by return or by exception
 *
 * A scope ends when it is destroyed, or earlier by end(). It can be moved (to
 * return it, or to keep it in a class) but not copied; a moved-from scope is
 * empty. It may end on another thread than it began on: its call is then
 * counted in its operation and in no call tree, with a warning. Objects that
 * must nest should live on the stack, as the macros' do.
 *
 * Cost      a call by name: some ns more than AXP_SCOPE("literal"), which C++
 *           can use as well and should where a loop is hot.
 * Failure   none: what cannot be recorded is counted by the profiler. Nothing
 *           here throws or allocates.
 * Off       with AXP_DISABLE defined a scope is an empty object. */
#ifndef AXPROF_HPP
#define AXPROF_HPP
#include "axprof.h"

namespace axp
{

class scope
{
  public:
#ifndef AXP_DISABLE
    explicit scope(const char *name) noexcept
        : scope(axp__is_on() ? axp_global() : nullptr, name)
    {
    }

    scope(const char *name, const axp_work &work) noexcept
        : scope(axp__is_on() ? axp_global() : nullptr, name, work)
    {
    }

    scope(axp_profiler *p, const char *name) noexcept
        : token_(p ? axp__scope_begin_in(p, name) : 0)
    {
    }

    scope(axp_profiler *p, const char *name, const axp_work &work) noexcept
        : scope(p, name)
    {
        if (token_) axp_add_work(p, work);
    }
#else
    explicit scope(const char *) noexcept {}
    scope(const char *, const axp_work &) noexcept {}
    scope(axp_profiler *, const char *) noexcept {}
    scope(axp_profiler *, const char *, const axp_work &) noexcept {}
#endif

    scope(scope &&from) noexcept : token_(from.token_)
    {
        from.token_ = 0;
    }

    scope &operator=(scope &&from) noexcept
    {
        if (this == &from) return *this;
        end();
        token_ = from.token_;
        from.token_ = 0;
        return *this;
    }

    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

    ~scope()
    {
        end();
    }

    /* Ends it now; again does nothing. */
    void end() noexcept
    {
        if (token_) axp__scope_end(token_);
        token_ = 0;
    }

    /* Whether it is being recorded. */
    explicit operator bool() const noexcept
    {
        return token_ != 0;
    }

  private:
    uint64_t token_ = 0;
};

} // namespace axp

#endif
