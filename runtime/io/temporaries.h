#pragma once

#include <string>

/// Table of this process's temporary files and tile directories, so that an interrupted run leaves none behind. The
/// table is fixed and lock-free, because `unlink_temporaries` is called from signal handlers.

namespace tdsl::rt {

/// Registers the path of a file, or of a directory that contains only files; returns its slot. Throws RunError if the
/// table (1024 files) is full.
[[nodiscard]] int register_temporary(const std::string& path);
/// Clears a slot without touching the file. A negative slot is ignored.
void forget_temporary(int slot) noexcept;
/// Unlinks every file in the table. Async-signal-safe; may be called repeatedly and by several ranks.
void unlink_temporaries() noexcept;

// Names of unfinished outputs. A name identifies its job, so that a later attempt of the job can remove the leftovers
// of a killed one.

/// Makes names `.NAME.tmp-JOB-RANK`; by default, and with an empty job, they are `.NAME.tmp-PID-CLOCK`.
void name_temporaries(const std::string& job, int rank);
/// An unused name next to the target; NAME is truncated to a valid length.
[[nodiscard]] std::string temporary_name(const std::string& target);
/// Marks a file as being written, until this process closes it or exits.
void mark_temporary(int fd) noexcept;
/// Removes this job's temporary files next to the target whose writers are gone. No effect without a job. Never throws.
void remove_leftovers(const std::string& target) noexcept;

}  // namespace tdsl::rt
