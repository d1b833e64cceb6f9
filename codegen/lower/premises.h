#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "codegen/operations/builder.h"

namespace tdsl::codegen {

/// Facts at the point where an expression is evaluated: index variables are in their ranges, and the enclosing
/// conditions hold. Conditions count if they compare index variables with each other, with places near the ends of
/// their ranges or with small numbers, combined by `&&`, `||` and `!`: the arithmetic of others may wrap around.
class Premises {
 public:
  Premises(ProgramBuilder& builder, const RecordedOp& op);

  /// Assumes that `condition` is `value`, until `forget` with the previous `size`.
  void assume(const Expr& condition, bool value);
  [[nodiscard]] std::size_t size() const { return positive_.size(); }
  void forget(std::size_t size) { positive_.resize(size); }
  /// Host values found so far that shift a periodic index, `mod(c, max(n, 1))` for an index variable over 0 .. n - 1,
  /// with c if it is a small number.
  [[nodiscard]] const std::map<ValueId, std::optional<std::int64_t>>& turns() const { return turns_; }

  /// True if 0 <= form < extent follows from the premises.
  [[nodiscard]] bool inside(const AffineForm& form, const Extent& extent) const;
  /// The same for one side each.
  [[nodiscard]] bool never_negative(const AffineForm& form) const;
  [[nodiscard]] bool below(const AffineForm& form, const Extent& extent) const;

 private:
  [[nodiscard]] bool surely_low(const AffineForm& form) const;
  [[nodiscard]] bool cannot_wrap(const AffineForm& form) const;
  void learn_of_turns(const AffineForm& form);
  void compare(ir::BinaryOp op, const AffineForm& left, const AffineForm& right);
  void differ(const AffineForm& left, const AffineForm& right);

  ProgramBuilder& builder_;
  std::vector<ir::Label> labels_;
  std::vector<AffineForm> positive_;  ///< forms that are at least 0
  std::map<ValueId, std::optional<std::int64_t>> turns_;
};

}  // namespace tdsl::codegen
