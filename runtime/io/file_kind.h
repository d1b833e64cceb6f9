#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/io/open_file.h"

namespace tdsl::rt {

/// File formats, selected by file name extension.
enum class FileKind : std::uint8_t { kNpy, kMatrixMarket, kFrostt, kScipyNpz, kCsv, kZarr, kHdf5 };

/// Throws a RunError that names the path if an HDF5 file is named without a dataset, or, for a file to be written, if
/// the extension belongs to no format. A file read without a known extension is `.npy`.
[[nodiscard]] FileKind readable_kind(const std::string& path);
[[nodiscard]] FileKind writable_kind(const std::string& path);

/// Throws RunError unless the format of that name supports tensors of `rank` dimensions.
void require_writable_rank(const std::string& path, std::size_t rank);

/// Throws RunError unless records of `rank` dimensions can be appended to a file of that name.
void require_series_file(const std::string& path, std::size_t rank);

/// True if the format of that name holds entries (coordinates and values), or is written that way.
[[nodiscard]] bool holds_entries(const std::string& path);

/// Resolves symbolic links, so that a link remains a link when its target is replaced.
[[nodiscard]] std::string resolve_target(const std::string& path);

/// True if the format stores a tensor as one array in C order, row after row.
[[nodiscard]] bool lies_in_rows(const std::string& path);
/// The most bytes of a record of a series that the format stores so; HDF5 files cut larger records into chunks.
/// Negative: it stores none so.
[[nodiscard]] std::int64_t most_record_in_rows(const std::string& path);

/// The file part of a name that may include a dataset or column.
[[nodiscard]] std::string file_behind(const std::string& path);

/// `.npy`, `.mtx`, …
[[nodiscard]] std::string kind_name(FileKind kind);
/// True if the name ends in .npy; files with other names may be read as .npy too.
[[nodiscard]] bool is_named_npy(const std::string& path);

/// File type for messages: "a directory", "a pipe (FIFO)", "a device", "a socket"; otherwise "a regular file".
[[nodiscard]] std::string file_kind_name(mode_t mode);

/// Identifies a file by its first bytes if they contradict `expected`: "an HDF5 file", "compressed with gzip".
[[nodiscard]] std::optional<std::string> other_content(const OpenFile& file, FileKind expected);

/// True if the file begins with NumPy's magic string.
[[nodiscard]] bool begins_as_npy(const OpenFile& file);

}  // namespace tdsl::rt
