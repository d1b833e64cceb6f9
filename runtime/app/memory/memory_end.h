#pragma once

// Memory that is used up where nobody can be told: in functions that do not throw, between threads, inside libraries.

namespace tdsl::rt {

/// From now on a bad_alloc that nobody catches ends the process with a line instead of a trace.
void catch_uncaught_bad_alloc();
/// So do libraries that give up because memory is used up. Called when MPI is up: it has a handler of its own, which
/// stays for other reasons.
void catch_aborts_without_memory();

}  // namespace tdsl::rt
