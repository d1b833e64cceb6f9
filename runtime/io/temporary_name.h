#pragma once

#include <string>

// Names of unfinished outputs. A name identifies its job, so that a later attempt of the job can remove the leftovers
// of a killed one.

namespace tdsl::rt {

/// Makes names `.NAME.tmp-JOB-RANK`; by default, and with an empty job, they are `.NAME.tmp-PID-CLOCK`.
void name_temporaries(const std::string& job, int rank);
/// An unused name next to the target; NAME is truncated to a valid length.
[[nodiscard]] std::string temporary_name(const std::string& target);
/// Marks a file as being written, until this process closes it or exits.
void mark_temporary(int fd) noexcept;
/// Removes this job's temporary files next to the target whose writers are gone. No effect without a job. Never throws.
void remove_leftovers(const std::string& target) noexcept;

}  // namespace tdsl::rt
