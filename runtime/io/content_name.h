#pragma once

#include <optional>
#include <string>

#include "runtime/io/file_kind.h"
#include "runtime/io/open_file.h"

namespace tdsl::rt {

/// What a file is by its first bytes, if they say that it is of no kind that `expected` could be: "an HDF5 file",
/// "compressed with gzip".
[[nodiscard]] std::optional<std::string> other_content(const OpenFile& file, FileKind expected);

/// Whether it begins with NumPy's mark.
[[nodiscard]] bool begins_as_npy(const OpenFile& file);

}  // namespace tdsl::rt
