#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tdsl::rt {

/// The language chooses a file's format by its extension.
enum class FileKind : std::uint8_t { kNpy, kMatrixMarket, kFrostt, kScipyNpz, kCsv, kZarr, kHdf5 };

/// Throws RunError naming the path when it names no dataset of an HDF5 file, or, for a file to be written, when the
/// extension belongs to no format. What is read without an extension that says something is `.npy`.
[[nodiscard]] FileKind readable_kind(const std::string& path);
[[nodiscard]] FileKind writable_kind(const std::string& path);

/// Throws RunError unless a file of that name can hold a tensor of `rank` dimensions.
void require_writable_rank(const std::string& path, std::size_t rank);

/// Whether a file of that name holds entries, coordinates and values, or is written like one.
[[nodiscard]] bool holds_entries(const std::string& path);

/// The file that a path leads to, through symbolic links, so that a link stays a link when its target is replaced.
[[nodiscard]] std::string resolve_target(const std::string& path);

/// Whether a tensor is one array in C order there, of which a row follows the other.
[[nodiscard]] bool lies_in_rows(const std::string& path);

/// The file of that name: without the dataset or column that a name may say behind it.
[[nodiscard]] std::string file_behind(const std::string& path);

/// `.npy`, `.mtx`, …
[[nodiscard]] std::string kind_name(FileKind kind);
/// Whether the name ends in .npy; other names may be read as such files, too.
[[nodiscard]] bool is_named_npy(const std::string& path);

/// What a file of this mode is, for messages: "a directory", "a pipe (FIFO)", "a device", "a socket"; else "a regular
/// file".
[[nodiscard]] std::string file_kind_name(mode_t mode);

}  // namespace tdsl::rt
