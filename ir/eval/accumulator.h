#pragma once

#include <cstdint>
#include <map>

#include "ir/eval/bounds.h"
#include "ir/graph/graph.h"

namespace tdsl::ir::eval {

class CompiledExpr;

/// Combines the elements of one monoid one after the other, in index order and in the element type, with a bound that
/// covers every other order. Starts empty; the identity is never combined.
class RealAccumulator {
 public:
  RealAccumulator() = default;
  /// `combine`: a user monoid's expression, else null; must outlive the accumulator.
  RealAccumulator(Monoid::Kind kind, Scalar type, CompiledExpr* combine)
      : kind_(kind), type_(type), combine_(combine) {}

  /// A term of a reduction: -0.0 counts as 0.0 in sums, minima and maxima.
  void add(Real term);
  /// A term used unchanged: the old value of an element, or a term of a running sum.
  void meet(Real term);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// Must not be empty.
  [[nodiscard]] Real result() const;

 private:
  Monoid::Kind kind_ = Monoid::Kind::kSum;
  Scalar type_ = Scalar::kF64;
  CompiledExpr* combine_ = nullptr;
  std::int64_t count_ = 0;
  Real value_;
  double magnitude_ = 0;        ///< sum of |terms|
  double operand_bounds_ = 0;   ///< sum of the terms' bounds
  int grain_ = kZeroGrain;      ///< all terms are multiples of 2^grain
  bool special_terms_ = false;  ///< an infinite or nan term was added
};

/// Error bound for `old + term`, rounded to `now`, as part of a longer sum whose terms are added in any order.
[[nodiscard]] double reordering(Scalar type, Real old, Real now);

class WholeAccumulator {
 public:
  WholeAccumulator() = default;
  WholeAccumulator(Monoid::Kind kind, Scalar type, CompiledExpr* combine)
      : kind_(kind), type_(type), combine_(combine) {}

  void add(Whole term);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] Whole result() const { return value_; }

 private:
  Monoid::Kind kind_ = Monoid::Kind::kSum;
  Scalar type_ = Scalar::kI64;
  CompiledExpr* combine_ = nullptr;
  std::int64_t count_ = 0;
  Whole value_;
};

/// argmin and argmax: the position of the first optimum, or of the first nan.
class PositionAccumulator {
 public:
  PositionAccumulator(Monoid::Kind kind, Scalar type) : largest_(kind == Monoid::Kind::kArgMax), type_(type) {}

  void add(Real term, std::int64_t position);
  void add(Whole term, std::int64_t position);
  /// -1 if empty; open if the bounds allow a different winner.
  [[nodiscard]] Whole result() const;

 private:
  bool largest_;
  Scalar type_;
  bool open_ = false;
  Real best_;
  std::int64_t best_whole_ = 0;
  std::int64_t position_ = -1;
  bool started_ = false;
  /// The most extreme value that any other term may take in another evaluation.
  double rival_ = 0;
  bool has_rival_ = false;
};

/// Float scalars that accumulate in every iteration of a loop, each with its previous value: `s = s + e`, also in
/// branches and repeatedly. A compiler may add the terms of all iterations in any order.
[[nodiscard]] std::map<ValueId, ValueId> scalar_accumulations(const Program& program);

/// True if the Compute adds to one element of its base: `x[i] = x[i] + e`.
[[nodiscard]] bool adds_to_element(const Compute& c);

}  // namespace tdsl::ir::eval
