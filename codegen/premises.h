#pragma once

#include <cstddef>
#include <vector>

#include "codegen/family_builder.h"

namespace tdsl::codegen {

/// What is known where an expression is evaluated: every range of an index variable has a value, and conditions hold that have been met on the
/// way. Conditions count that compare index variables with one another, with the ends of their ranges and small numbers: others might wrap
/// around in their arithmetic and hold all the same.
class Premises {
 public:
  Premises(FamilyBuilder& builder, const std::vector<LabelTemplate>& labels);

  /// `condition` is known to be `value`, until `forget` of what `size` was before.
  void assume(const Expr& condition, bool value);
  [[nodiscard]] std::size_t size() const { return positive_.size(); }
  void forget(std::size_t size) { positive_.resize(size); }

  /// Whether 0 <= form < extent follows.
  [[nodiscard]] bool inside(const AffineForm& form, const Extent& extent) const;

 private:
  [[nodiscard]] bool never_negative(const AffineForm& form) const;
  [[nodiscard]] bool surely_low(const AffineForm& form) const;
  [[nodiscard]] bool cannot_wrap(const AffineForm& form) const;
  void learn_of_turns(const AffineForm& form);

  FamilyBuilder& builder_;
  const std::vector<LabelTemplate>& labels_;
  std::vector<AffineForm> positive_;  ///< forms that are at least 0
};

}  // namespace tdsl::codegen
