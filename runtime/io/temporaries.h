#pragma once

#include <string>

/// The temporary files, and directories of tiles, this process knows of, so that a run that is cut short leaves none
/// behind. The table is fixed and lock-free because `unlink_temporaries` is called from signal handlers.
namespace tdsl::rt {

/// Enters the path of a file, or of a directory that holds files only; returns its slot. Throws RunError when the table
/// (1024 files) is full.
[[nodiscard]] int register_temporary(const std::string& path);
/// Forgets a slot without touching the file. A negative slot is ignored.
void forget_temporary(int slot) noexcept;
/// Unlinks every file in the table. Async-signal-safe, may be called more than once and by several ranks.
void unlink_temporaries() noexcept;

}  // namespace tdsl::rt
