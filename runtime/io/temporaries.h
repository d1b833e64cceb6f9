#pragma once

#include <string>

/// The temporary files this process knows of, so that a run that is cut short leaves none behind. The table is fixed
/// and lock-free because `unlink_temporaries` is called from signal handlers.
namespace tdsl::rt {

/// Enters a path; returns its slot. Throws RunError when the table (1024 files) is full.
[[nodiscard]] int register_temporary(const std::string& path);
/// Forgets a slot without touching the file. A negative slot is ignored.
void forget_temporary(int slot) noexcept;
/// Unlinks every file in the table. Async-signal-safe, may be called more than once and by several ranks.
void unlink_temporaries() noexcept;

}  // namespace tdsl::rt
