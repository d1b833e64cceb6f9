#include "runtime/app/session/dense_storage.h"

#include <unistd.h>

#include <algorithm>

#include "runtime/base/number_format.h"
#include "runtime/shapes.h"

namespace tdsl::rt {

std::int64_t physical_memory() {
  // Asked for every recorded operation.
  static const std::int64_t memory = [] {
    const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
    const std::int64_t bytes = ::sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? pages * bytes : 0;
  }();
  return memory;
}

std::optional<std::string> no_room_text(std::string_view name, ElementType type, std::span<const std::int64_t> shape,
                                        std::int64_t memory, std::int64_t nodes, bool sparse) {
  if (memory == 0 || std::ranges::count(shape, 0) > 0) return std::nullopt;
  auto bytes = static_cast<std::int64_t>(element_size(type));
  for (const std::int64_t extent : shape) bytes *= extent;  // a valid size
  if (bytes / nodes <= memory) return std::nullopt;
  return std::string(name) + " is " + (sparse ? "sparse " : "") + std::string(element_name(type)) + shape_text(shape) +
         ", stored dense here: " + format_bytes(bytes) + ", but " +
         (nodes == 1 ? "this machine has " : std::to_string(nodes) + " machines have ") + format_bytes(memory) +
         (nodes == 1 ? "" : " each") + " of memory";
}

}  // namespace tdsl::rt
