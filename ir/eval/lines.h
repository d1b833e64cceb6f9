#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tdsl::ir::eval {

/// One line of an array along an axis: `begin + k * stride` for k < length.
struct Line {
  std::size_t begin = 0;
  std::size_t stride = 1;
  std::int64_t length = 0;

  [[nodiscard]] std::size_t at(std::int64_t k) const { return begin + static_cast<std::size_t>(k) * stride; }
};

/// All lines of an array of that shape, in row-major order of the other subscripts.
inline std::vector<Line> lines_of(const std::vector<std::int64_t>& shape, std::size_t axis) {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != axis) (d < axis ? outer : inner) *= shape[d];
  }
  std::vector<Line> lines;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      const auto begin = static_cast<std::size_t>(o * shape[axis] * inner + i);
      lines.push_back({begin, static_cast<std::size_t>(inner), shape[axis]});
    }
  }
  return lines;
}

}  // namespace tdsl::ir::eval
