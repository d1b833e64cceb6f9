#pragma once

#include <optional>
#include <string>

#include "runtime/io/file_kind.h"
#include "runtime/io/open_file.h"

namespace tdsl::rt {

/// Identifies a file by its first bytes if they contradict `expected`: "an HDF5 file", "compressed with gzip".
[[nodiscard]] std::optional<std::string> other_content(const OpenFile& file, FileKind expected);

/// True if the file begins with NumPy's magic string.
[[nodiscard]] bool begins_as_npy(const OpenFile& file);

}  // namespace tdsl::rt
