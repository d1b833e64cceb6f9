#pragma once

#include <string>

// The names of outputs that are not finished. A name tells whose file it is, so that a later attempt of the same job
// can remove what one that was killed has left.

namespace tdsl::rt {

/// From now on names are `.NAME.tmp-JOB-RANK`; before, and with an empty job, `.NAME.tmp-PID-CLOCK`.
void name_temporaries(const std::string& job, int rank);
/// A name beside the target that nobody has; NAME is cut so that it stays legal.
[[nodiscard]] std::string temporary_name(const std::string& target);
/// Marks a file as being written, until this process closes it or ends.
void mark_temporary(int fd) noexcept;
/// Removes the temporary files of this job beside the target whose writers are gone. Without a job it does nothing.
/// Never throws.
void remove_leftovers(const std::string& target) noexcept;

}  // namespace tdsl::rt
