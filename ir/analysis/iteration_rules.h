#pragma once

#include <vector>

#include "ir/analysis/support.h"
#include "ir/graph/graph.h"

namespace tdsl::ir {

/// Rules of a Compute's sparse iterations. The pass `iteration` chooses by them, and the verifier checks its choice.
class IterationRules {
 public:
  IterationRules(const Program& program, const Compute& compute);

  /// False for Computes that store in an unsupported way: store subscripts, bases, combination with old values, fills
  /// other than the identity, positions of optima, data-dependent subscripts, expressions that may stop the run.
  [[nodiscard]] bool supported() const;
  /// The reads of compressed tensors that loops can visit or look up; those in the support first.
  [[nodiscard]] const std::vector<StoredOperand>& operands() const { return operands_; }
  /// True if a point where all these operands' elements are absent has no effect: there the support of guard and body
  /// (ir/analysis/support.h) is false, and without a reduction the value is 0, not -0.
  [[nodiscard]] bool are_needed(const std::vector<StoredOperand>& operands) const;
  /// True if a user's reduction combines values in index order: iterated labels first, then dense ones.
  [[nodiscard]] bool keeps_order(const SparseIteration& iteration) const;
  /// kOrdered or kAccumulated if the loops can make a compressed result, else kDense.
  [[nodiscard]] SparseIteration::Result result_of(const SparseIteration& iteration) const;
  /// True if the Compute moves elements of compressed operands only (ir/analysis/rearrangement.h).
  [[nodiscard]] bool moves_elements() const;
  /// True if points are computed one by one in order, from dense operands without lookups.
  [[nodiscard]] bool computes_points() const;
  /// True if points of dense operands store at computed positions of a tensor of zeros, by a built-in operator or each
  /// element once.
  [[nodiscard]] bool assembles() const;

 private:
  const Program& program_;
  const Compute& c_;
  std::vector<Expr> reads_;
  std::vector<StoredOperand> operands_;
  Support support_;
  SupportFinder guards_;
  Support guard_;
  bool zero_is_positive_ = false;
};

/// Number of the operand's levels, from the outermost one, that are iterated by the first `depth` loops in the same
/// order.
[[nodiscard]] std::size_t levels_iterated(const SparseIteration& iteration, const StoredOperand& operand,
                                          std::size_t depth);
/// True if the Compute reads the tensor, and only elements that the iteration visits or looks up.
[[nodiscard]] bool visits(const Compute& compute, const SparseIteration& iteration, ValueId tensor);

}  // namespace tdsl::ir
