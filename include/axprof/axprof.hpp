/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof.hpp: scopes as objects, from C++14 on; header only, on top of
 * axprof.h.
 *
 *   #include <axprof/axprof.hpp>
 *
 *   void layer(const std::string &name) {
 *       axp::scope s(name);                          // the global profiler
 *       axp::scope m(p, "matmul", {.flops = 2e9});   // p, with work (C++20
 *       ...                                          // names the fields)
 *   }                                 // ends here, by return or by exception
 *
 * Names are C strings, std::string, std::string_view. A scope ends when it is
 * destroyed, or earlier by end(). It can be moved (to return it, or to keep it
 * in a class) but not copied; a moved-from scope is empty. It may end on another
 * thread than it began on: its call is then counted in its operation and in no
 * call tree, with a warning. Objects that must nest should live on the stack,
 * as the macros' do.
 *
 * Coroutines  the macros' scopes refuse a co_await. An axp::scope cannot, and
 *             is wrong across one: use axp::async_scope, whose time is from its
 *             beginning to its end wherever the coroutine goes on, and which is
 *             an operation in no call tree.
 * Cost        a call by name: some ns more than AXP_SCOPE("literal"), which C++
 *             can use as well and should where a loop is hot.
 * Failure     none: what cannot be recorded is counted by the profiler. Nothing
 *             here throws or allocates.
 * Off         with AXP_DISABLE defined a scope is an empty object. */
#ifndef AXPROF_HPP
#define AXPROF_HPP
#include "axprof.h"

namespace axp
{

class AXP__NODISCARD scope
{
  public:
#ifndef AXP_DISABLE
    template <class Name>
    AXP__NODISCARD explicit scope(const Name &name) noexcept
        : scope(axp__is_on() ? axp_global() : nullptr, name)
    {
    }

    template <class Name>
    AXP__NODISCARD scope(const Name &name, const axp_work &work) noexcept
        : scope(axp__is_on() ? axp_global() : nullptr, name, work)
    {
    }

    template <class Name>
    AXP__NODISCARD scope(axp_profiler *p, const Name &name) noexcept
        : token_(p ? axp_begin(p, detail::name_of(name, 0)) : 0)
    {
    }

    template <class Name>
    AXP__NODISCARD scope(axp_profiler *p, const Name &name,
                         const axp_work &work) noexcept
        : scope(p, name)
    {
        if (token_) axp_add_work(p, work);
    }
#else
    template <class Name> AXP__NODISCARD explicit scope(const Name &) noexcept
    {
    }

    template <class Name>
    AXP__NODISCARD scope(const Name &, const axp_work &) noexcept
    {
    }

    template <class Name>
    AXP__NODISCARD scope(axp_profiler *, const Name &) noexcept
    {
    }

    template <class Name>
    AXP__NODISCARD scope(axp_profiler *, const Name &,
                         const axp_work &) noexcept
    {
    }
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
#ifndef AXP_DISABLE
        if (token_) axp_end(token_);
#endif
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

/* A scope that may begin on one thread and end on another, and overlap others
 * as it likes. The name must live as long as the object, which stays where it
 * is. */
class AXP__NODISCARD async_scope
{
  public:
#ifndef AXP_DISABLE
    AXP__NODISCARD explicit async_scope(const char *name) noexcept
        : async_scope(axp__is_on() ? axp_global() : nullptr, name)
    {
    }

    AXP__NODISCARD async_scope(axp_profiler *p, const char *name) noexcept
        : p_(p), name_(name)
    {
        if (p_) axp_async_begin(p_, name_, id());
    }
#else
    AXP__NODISCARD explicit async_scope(const char *) noexcept {}
    AXP__NODISCARD async_scope(axp_profiler *, const char *) noexcept {}
#endif

    async_scope(const async_scope &) = delete;
    async_scope &operator=(const async_scope &) = delete;

    ~async_scope()
    {
        end();
    }

    /* Ends it now; again does nothing. */
    void end() noexcept
    {
#ifndef AXP_DISABLE
        if (p_) axp_async_end(p_, name_, id());
#else
        static_cast<void>(name_);
#endif
        p_ = nullptr;
    }

  private:
    /* No other that is open has it. */
    uint64_t id() const noexcept
    {
        return reinterpret_cast<uintptr_t>(this);
    }

    axp_profiler *p_ = nullptr;
    const char *name_ = nullptr;
};

} // namespace axp

#endif
