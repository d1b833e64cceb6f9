#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tdsl::rt {

/// The language chooses a file's format by its extension.
enum class FileKind : std::uint8_t { kNpy, kMatrixMarket, kFrostt, kScipyNpz, kCsv };

/// Throws RunError naming the path when the extension belongs to a format that is not supported yet, or, for a file to be written,
/// to none. What is read without an extension that says something is `.npy`.
[[nodiscard]] FileKind readable_kind(const std::string& path);
[[nodiscard]] FileKind writable_kind(const std::string& path);

/// Throws RunError unless a file of that name can hold a tensor of so many dimensions.
void require_writable_rank(const std::string& path, std::size_t rank);

/// Whether a file of that name holds entries, coordinates and values, or is written like one.
[[nodiscard]] bool holds_entries(const std::string& path);

/// `.npy`, `.mtx`, …
[[nodiscard]] std::string kind_name(FileKind kind);
/// Whether the name ends in .npy; other names may be read as such files, too.
[[nodiscard]] bool is_named_npy(const std::string& path);

/// What a file of this mode is, for messages: "a directory", "a pipe (FIFO)", "a device", "a socket"; else "a regular file".
[[nodiscard]] std::string file_kind_name(mode_t mode);

}  // namespace tdsl::rt
