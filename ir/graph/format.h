#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tdsl::ir {

/// How the blocks of a tensor store its elements: one level per dimension, outermost first.
struct Format {
  enum class Level : std::uint8_t {
    kDense,       ///< every coordinate
    kSparse,      ///< declared `sparse`: elements may be absent, that is 0 (never -0), but blocks store all of them
    kCompressed,  ///< as kSparse, and blocks store only the elements that are present; they choose their encoding
    kCoded,       ///< as kCompressed, and blocks may store columns as codes of their distinct values
  };
  std::vector<Level> levels;  ///< empty: all dense

  [[nodiscard]] Level level(std::size_t d) const { return d < levels.size() ? levels[d] : Level::kDense; }
  [[nodiscard]] bool is_sparse(std::size_t d) const { return level(d) != Level::kDense; }
  [[nodiscard]] bool has_sparse() const {
    return std::ranges::any_of(levels, [](Level l) { return l != Level::kDense; });
  }
  [[nodiscard]] bool is_compressed() const {
    return std::ranges::any_of(levels, [](Level l) { return l == Level::kCompressed || l == Level::kCoded; });
  }
  [[nodiscard]] bool is_coded() const { return std::ranges::count(levels, Level::kCoded) > 0; }
  /// Stores only present elements, or all; dense levels remain.
  void compress(bool on) {
    for (Level& l : levels) l = l == Level::kDense ? l : on ? Level::kCompressed : Level::kSparse;
  }

  friend bool operator==(const Format& a, const Format& b) {
    bool same = true;
    for (std::size_t d = 0; d < std::max(a.levels.size(), b.levels.size()); ++d)
      same = same && a.level(d) == b.level(d);
    return same;
  }
};

/// How a level precedes its extent in text: nothing, `sparse `, `compressed `, `coded `.
[[nodiscard]] constexpr std::string_view prefix_of(Format::Level level) {
  using enum Format::Level;
  return level == kDense ? "" : level == kSparse ? "sparse " : level == kCompressed ? "compressed " : "coded ";
}

}  // namespace tdsl::ir
