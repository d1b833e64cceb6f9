#pragma once

#include "runtime/io/entries/entry_file.h"

namespace tdsl::rt {

/// How the first line of a FROSTT file begins that says the shape: ours do, and to other readers it is a comment.
inline constexpr std::string_view kFrosttShape = "# tdsl shape";

/// A FROSTT file (`.tns`): a line per entry, subscripts from 1, then the value; `#` begins a comment. Where no first
/// line says the shape, an extent is at least the largest subscript. Numbers are read as the input's type, whatever it
/// is; of bools all are 1.
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
