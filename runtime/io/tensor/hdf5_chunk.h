#pragma once

#include <cstddef>
#include <vector>

#include "runtime/io/tensor/hdf5_plugin.h"

namespace tdsl::rt {

/// Undoes the filters of a chunk, the last one first, but for those with a bit in `skipped`. Afterwards it has so many
/// bytes. Throws std::runtime_error, whose text does not name the file, for what is not packed so.
void unpack_chunk(std::vector<std::byte>& bytes, const Hdf5Layout& layout, unsigned skipped, std::size_t size);

}  // namespace tdsl::rt
