#pragma once

#include <map>
#include <optional>
#include <vector>

#include "codegen/families/families.h"

namespace tdsl::codegen {

/// What is known at compile time about the integers of a serial loop: values as polynomials over what lies outside and
/// the indices of the loops around a place, and the ranges of those indices.
class LoopBounds {
 public:
  /// What integers are that a loop carries or that are read from a tensor: unknown, or named by themselves, which
  /// serves comparisons.
  enum class Opaque : std::uint8_t { kUnknown, kNamed };
  /// `sizes`: integers from outside as polynomials. Both must outlive this.
  LoopBounds(const ir::Node& loop, const std::map<ValueId, Extent>& sizes, Opaque opaque = Opaque::kUnknown);

  /// From here on / no longer inside this loop.
  void enter(const ir::For& loop);
  void leave();
  /// The same for index variables of a Compute, whose numbers begin with `first`.
  void enter(const std::vector<ir::Label>& labels, std::size_t first);
  void leave(const std::vector<ir::Label>& labels);

  /// Nothing if the value is carried by a loop, or read from a tensor, and such values are unknown.
  [[nodiscard]] std::optional<Extent> polynomial(const Expr& e) const;
  [[nodiscard]] std::optional<Extent> polynomial(ValueId v) const;
  /// Whether 0 <= subscript < extent wherever this place is reached.
  [[nodiscard]] bool inside(const Expr& subscript, const Extent& extent) const;
  /// The polynomial with the indices of the loops around in the middle of their ranges.
  [[nodiscard]] Extent middle(Extent e) const;
  /// How many values an index variable takes; nothing if its range depends on data or on what a loop carries.
  [[nodiscard]] std::optional<Extent> points(const ir::Label& label) const;
  /// How often the loop's body runs; nothing in the same cases.
  [[nodiscard]] std::optional<Extent> iterations(const ir::For& loop) const;

 private:
  struct Range {
    ValueId index;
    std::optional<Extent> least;
    std::optional<Extent> most;
  };
  [[nodiscard]] std::optional<Extent> polynomial(const Extent& e) const;
  [[nodiscard]] std::optional<Extent> found_polynomial(ValueId v) const;
  [[nodiscard]] bool nonnegative(Extent e) const;
  [[nodiscard]] bool positive(const Extent& size) const;
  /// `mod(e, size)`, or `e % size` where e is not negative.
  [[nodiscard]] bool wraps_around(const Expr& subscript, const Extent& size) const;
  void collect(const ir::Region& region);

  const std::map<ValueId, Extent>& sizes_;
  Opaque opaque_;
  std::map<ValueId, Expr> defined_;
  std::vector<Range> loops_;
  mutable std::map<ValueId, std::optional<Extent>> known_;  ///< polynomials found inside of these loops
};

}  // namespace tdsl::codegen
