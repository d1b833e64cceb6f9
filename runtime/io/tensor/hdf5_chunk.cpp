#include "runtime/io/tensor/hdf5_chunk.h"

#include <zlib.h>

#include <new>
#include <stdexcept>
#include <string>

namespace tdsl::rt {

namespace {

std::vector<std::byte> inflated(const std::vector<std::byte>& bytes, std::size_t size) {
  std::vector<std::byte> whole(size);
  uLongf length = size;
  const int result = ::uncompress(reinterpret_cast<Bytef*>(whole.data()), &length,
                                  reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  if (result != Z_OK || length != size) throw std::runtime_error("a compressed chunk is damaged");
  return whole;
}

/// Reverses the shuffle filter: the first bytes of all elements are stored first, then the second ones, and so on; an
/// incomplete element is at the end.
std::vector<std::byte> unshuffled(const std::vector<std::byte>& bytes, std::size_t width) {
  std::vector<std::byte> elements(bytes);
  const std::size_t count = bytes.size() / width;
  for (std::size_t b = 0; b < width; ++b) {
    const std::byte* const from = bytes.data() + b * count;
    std::byte* const to = elements.data() + b;
    for (std::size_t i = 0; i < count; ++i) to[i * width] = from[i];
  }
  return elements;
}

}  // namespace

void unpack_chunk(std::vector<std::byte>& bytes, const Hdf5Layout& layout, unsigned skipped, std::size_t size) {
  for (std::size_t k = layout.filters.size(); k-- > 0;) {
    if ((skipped >> k & 1U) != 0) continue;
    bytes = layout.filters[k] == Hdf5Layout::Filter::kDeflate
                ? inflated(bytes, size)
                : unshuffled(bytes, static_cast<std::size_t>(layout.bytes));
  }
  if (bytes.size() != size)
    throw std::runtime_error("a chunk has " + std::to_string(bytes.size()) + " bytes instead of " +
                             std::to_string(size));
}

}  // namespace tdsl::rt
