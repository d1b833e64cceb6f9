#pragma once

#include <cstddef>
#include <vector>

#include "runtime/io/tensor/hdf5_plugin.h"

namespace tdsl::rt {

/// Reverses the filters of a chunk, last to first, except those with a bit in `skipped`. The result must have `size`
/// bytes. Throws std::runtime_error, without the file's name, if the data is invalid.
void unpack_chunk(std::vector<std::byte>& bytes, const Hdf5Layout& layout, unsigned skipped, std::size_t size);

}  // namespace tdsl::rt
