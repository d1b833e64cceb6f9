#pragma once

#include <memory>
#include <type_traits>

#include "runtime/check.h"

// Calls of C++ functions of the user's (`extern`), which may divide by zero or leave an array. A signal in one is an
// error of the run with the function's name, as any other: one message, and every rank ends.

namespace tdsl::rt {

/// Who calls: the place of the program, and the functions that the call may enter, as messages name them ("the C++
/// function 'f' of k.hpp"). `functions` outlives the call.
struct ForeignCaller {
  SourceLine place;
  const char* functions;
};

/// Catches SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP and SIGABRT from now on, for call_foreign. Elsewhere these signals
/// do what they did before. Not for libraries that other programs load: signals are theirs. `clean_up`,
/// async-signal-safe, runs where a signal ends the process.
void catch_foreign_signals(void (*clean_up)() noexcept = nullptr);

/// Runs `call(data)`. Throws ProgramError if a signal of those above ends it and they are caught. Objects of its
/// functions are not destroyed then. A signal inside of the C library, whose locks may be held, ends the process with
/// the same message and exit code 1.
void call_foreign(const ForeignCaller& caller, void (*call)(void*), void* data);

template <class F>
void call_foreign(const ForeignCaller& caller, F&& f) {
  using Call = std::remove_reference_t<F>;
  call_foreign(
      caller, [](void* data) { (*static_cast<Call*>(data))(); },
      const_cast<void*>(static_cast<const void*>(std::addressof(f))));
}

}  // namespace tdsl::rt
