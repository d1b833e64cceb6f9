#pragma once

#include <utility>

#include "runtime/foreign/call.h"
#include "runtime/kernels/each.h"

// Calls from emitted programs to user C++ functions.

namespace tdsl::rt {

/// The kernel, which calls such functions for elements of its task.
[[nodiscard]] inline Kernel foreign_kernel(ForeignCaller caller, EmittedKernel kernel) {
  return [caller, run = kernel.take()](const TaskArgs& t) { call_foreign(caller, [&] { run(t); }); };
}

/// The function, callable from code that is not a kernel.
template <class R, class... A>
[[nodiscard]] auto foreign_function(ForeignCaller caller, R (*function)(A...)) {
  return [caller, function](A... arguments) {
    R result{};
    call_foreign(caller, [&] { result = function(arguments...); });
    return result;
  };
}

}  // namespace tdsl::rt
