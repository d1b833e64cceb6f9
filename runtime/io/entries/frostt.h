#pragma once

#include "runtime/io/entries/entry_file.h"

namespace tdsl::rt {

/// Prefix of the first line of a FROSTT file with a shape: our extension, a comment to other readers.
inline constexpr std::string_view kFrosttShape = "# tdsl shape";

/// A FROSTT file (`.tns`): one entry per line, 1-based subscripts followed by the value; `#` starts a comment. Without
/// a shape line, extents are bounded below by the largest subscripts. Numbers are parsed as the input's type; for bools
/// every value must be 1.
class FrosttFile : public EntryFile {
 public:
  explicit FrosttFile(OpenFile file);

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] std::optional<Extents> shape() const override { return shape_; }
  [[nodiscard]] bool may_be_longer() const override { return !shape_; }
  void require_type(ElementType, std::string_view) const override {}
  [[nodiscard]] Part read(ElementType type, std::int64_t part, std::int64_t parts) const override;
  [[nodiscard]] Extents settle(std::span<const Tally> tallies, std::int64_t part, Part& mine) const override;

 private:
  int rank_ = 0;
  std::optional<Extents> shape_;
};

}  // namespace tdsl::rt
