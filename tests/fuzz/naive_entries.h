#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tdsl::tests {

/// A file's contents according to a naive reader.
struct NaiveEntries {
  std::vector<std::int64_t> shape;
  std::vector<std::pair<std::vector<std::int64_t>, double>> entries;
};

}  // namespace tdsl::tests
