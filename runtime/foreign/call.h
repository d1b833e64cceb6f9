#pragma once

#include <memory>
#include <type_traits>

#include "runtime/check.h"

// Calls of user C++ functions (`extern`), which may divide by zero or access memory out of bounds. A signal in one is a
// run-time error with the function's name, like any other: one message, and every rank ends.

namespace tdsl::rt {

/// The caller: the location in the program, and the functions that the call may enter, as named in messages ("the C++
/// function `f` of k.hpp"). `functions` must outlive the call.
struct ForeignCaller {
  SourceLine place;
  const char* functions;
};

/// Catches SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP and SIGABRT from now on, for call_foreign. Outside such calls these
/// signals keep their previous action. Not for libraries loaded by other programs, which own the signals. `clean_up`,
/// async-signal-safe, runs when a signal ends the process.
void catch_foreign_signals(void (*clean_up)() noexcept = nullptr);

/// Runs `call(data)`. Throws ProgramError if one of the signals above ends it and they are caught; objects of its
/// functions are then not destroyed. A signal inside the C library, whose locks may be held, ends the process with the
/// same message and exit code 1.
void call_foreign(const ForeignCaller& caller, void (*call)(void*), void* data);

template <class F>
void call_foreign(const ForeignCaller& caller, F&& f) {
  using Call = std::remove_reference_t<F>;
  call_foreign(
      caller, [](void* data) { (*static_cast<Call*>(data))(); },
      const_cast<void*>(static_cast<const void*>(std::addressof(f))));
}

}  // namespace tdsl::rt
