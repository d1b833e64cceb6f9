#pragma once

#include <map>
#include <optional>
#include <vector>

#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// Compile-time knowledge about the integers of a serial loop: values as polynomials over outside values and enclosing
/// loop indices, and the ranges of those indices.
class LoopBounds {
 public:
  /// Treatment of integers carried by a loop or read from a tensor: unknown, or named by themselves, which is useful
  /// for comparisons.
  enum class Opaque : std::uint8_t { kUnknown, kNamed };
  /// `sizes`: integers from outside as polynomials. Both must outlive this.
  LoopBounds(const ir::Node& loop, const std::map<ValueId, Extent>& sizes, Opaque opaque = Opaque::kUnknown);

  /// Enters / leaves this loop.
  void enter(const ir::For& loop);
  void leave() { leave(1); }
  /// The same for index variables of a Compute, numbered from `first`.
  void enter(const std::vector<ir::Label>& labels, std::size_t first);
  void leave(std::size_t count);

  /// Nothing if the value is carried by a loop or read from a tensor, and such values are unknown.
  [[nodiscard]] std::optional<Extent> polynomial(const Expr& e) const;
  [[nodiscard]] std::optional<Extent> polynomial(ValueId v) const;
  /// True if 0 <= subscript < extent wherever this point is reached.
  [[nodiscard]] bool inside(const Expr& subscript, const Extent& extent) const;
  /// The polynomial with enclosing loop indices at the middle of their ranges.
  [[nodiscard]] Extent middle(Extent e) const;
  /// The number of values of an index variable; nothing if its range depends on data or on carried values.
  [[nodiscard]] std::optional<Extent> points(const ir::Label& label) const;
  /// The loop's trip count; nothing in the same cases.
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
  /// `mod(e, size)`, `edge(e, size)` and the like, or `e % size` with e nonnegative.
  [[nodiscard]] bool wraps_around(const Expr& subscript, const Extent& size) const;
  void collect(const ir::Region& region);

  const std::map<ValueId, Extent>& sizes_;
  Opaque opaque_;
  std::map<ValueId, Expr> defined_;
  std::vector<Range> loops_;
  mutable std::map<ValueId, std::optional<Extent>> known_;  ///< polynomials found inside these loops
};

}  // namespace tdsl::codegen
