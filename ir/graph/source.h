#pragma once

#include <cstdint>
#include <string>

namespace tdsl::ir {

/// A range of characters in one source file. Lines and columns count from 1; `end_column` is one past the last
/// character. Line 0 means "no place" (made by the compiler).
struct SourceRange {
  std::uint32_t file = 0;  ///< index into the compilation's list of files
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t end_line = 0;
  std::uint32_t end_column = 0;

  [[nodiscard]] bool known() const { return line != 0; }
  /// The smallest range covering this one and `other` (same file).
  [[nodiscard]] SourceRange to(const SourceRange& other) const {
    SourceRange r = *this;
    r.end_line = other.end_line;
    r.end_column = other.end_column;
    return r;
  }
  friend bool operator==(const SourceRange&, const SourceRange&) = default;
};

}  // namespace tdsl::ir
