#pragma once

#include <string>
#include <vector>

#include "runtime/app/options/limits.h"

// The kernel kills a process of a control group that exceeds its memory limit. The surviving ranks report it.

namespace tdsl::rt {

/// Raises this process's OOM score, so that the kernel kills it before larger processes that wait for it, such as the
/// compiler or the launcher.
void offer_to_be_killed();

/// This process's data for all ranks, which use it to distinguish killed ranks from ranks that exited.
[[nodiscard]] std::string kill_watch_part();
/// Starts watching for processes of this run and group that are killed for memory. `run` names the run: one of its
/// ranks per node reports. `parts`: kill_watch_part() of all ranks; `rank`: this one's.
void watch_memory_kills(const std::string& run, const std::vector<std::string>& parts, int rank,
                        const SystemFiles& files = read_system_file);
/// Prints why processes of this run were killed, if it was for memory and no other rank of this node reports it.
/// Returns whether the kills are explained. Async-signal-safe.
bool report_memory_kill() noexcept;
/// Unregisters this process, so that others do not take its exit for a kill. Async-signal-safe.
void end_unkilled() noexcept;

// Handling of memory exhaustion where no exception can be reported: in noexcept functions, on other threads, inside
// libraries.

/// Makes an uncaught bad_alloc end the process with a one-line message instead of a trace.
void catch_uncaught_bad_alloc();
/// Does the same for libraries that abort when memory is exhausted. Call after MPI_Init: MPI installs its own handler,
/// which stays in place for other causes.
void catch_aborts_without_memory();

}  // namespace tdsl::rt
