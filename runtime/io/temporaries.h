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

}  // namespace tdsl::rt
