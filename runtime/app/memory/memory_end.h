#pragma once

// Handling of memory exhaustion where no exception can be reported: in noexcept functions, on other threads, inside
// libraries.

namespace tdsl::rt {

/// Makes an uncaught bad_alloc end the process with a one-line message instead of a trace.
void catch_uncaught_bad_alloc();
/// Does the same for libraries that abort when memory is exhausted. Call after MPI_Init: MPI installs its own handler,
/// which stays in place for other causes.
void catch_aborts_without_memory();

}  // namespace tdsl::rt
