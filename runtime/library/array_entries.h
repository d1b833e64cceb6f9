#pragma once

#include <cstddef>
#include <memory>

#include "runtime/io/entries/entry_file.h"
#include "runtime/library/arrays.h"

namespace tdsl::rt {

/// A sparse input of the caller as a file of entries; part p are the rows that rank p is the lowest to have.
[[nodiscard]] std::unique_ptr<EntryFile> entry_file(const Arrays& arrays, std::size_t input);

}  // namespace tdsl::rt
