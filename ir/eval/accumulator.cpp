#include "ir/eval/accumulator.h"

#include <algorithm>
#include <type_traits>

#include "ir/eval/complex_bounds.h"
#include "ir/eval/expr.h"
#include "ir/graph/check.h"

namespace tdsl::ir::eval {

namespace {

namespace scalar = rt::scalar;

int digits_of(Scalar s) { return is_narrow(s) ? 24 : 53; }
double epsilon_of(Scalar s) { return is_narrow(s) ? kEpsilon<float> : kEpsilon<double>; }

template <class T>
std::int64_t combine_whole(Monoid::Kind kind, std::int64_t a, std::int64_t b) {
  const T x = static_cast<T>(a);
  const T y = static_cast<T>(b);
  switch (kind) {
    case Monoid::Kind::kSum: return static_cast<std::int64_t>(scalar::add(x, y));
    case Monoid::Kind::kProd: return static_cast<std::int64_t>(scalar::multiply(x, y));
    case Monoid::Kind::kMin: return static_cast<std::int64_t>(scalar::min(x, y));
    case Monoid::Kind::kMax: return static_cast<std::int64_t>(scalar::max(x, y));
    default: break;
  }
  TDSL_CHECK(false, "not an arithmetic reduction");
  return 0;
}

/// A certain `true` decides `any`, a certain `false` decides `all`.
Whole combine_bools(Whole a, Whole b, bool deciding) {
  const bool decided = (a.bound == 0 && (a.value != 0) == deciding) || (b.bound == 0 && (b.value != 0) == deciding);
  const bool value = deciding ? (a.value != 0 || b.value != 0) : (a.value != 0 && b.value != 0);
  return {value ? 1 : 0, decided ? 0 : std::max(a.bound, b.bound)};
}

}  // namespace

void RealAccumulator::add(Real term) {
  if (kind_ == Monoid::Kind::kSum || kind_ == Monoid::Kind::kMin || kind_ == Monoid::Kind::kMax) {
    term.value += 0.0;
    term.imag += 0.0;
  }
  meet(term);
}

void RealAccumulator::meet(Real term) {
  ++count_;
  magnitude_ += magnitude(term);
  operand_bounds_ += term.bound;
  special_terms_ = special_terms_ || !is_finite(term);
  if (operand_bounds_ == 0 && is_finite(term)) grain_ = std::min(grain_, grain_of(term));
  if (count_ == 1) {
    value_ = term;
    return;
  }
  switch (kind_) {
    case Monoid::Kind::kSum: value_ = plain_sum(type_, value_, term); return;
    case Monoid::Kind::kProd: value_ = multiply(type_, value_, term); return;
    case Monoid::Kind::kMin: value_ = min(value_, term); return;
    case Monoid::Kind::kMax: value_ = max(value_, term); return;
    case Monoid::Kind::kUser: value_ = combine_->combine({value_, {}}, {term, {}}).real; return;
    default: TDSL_CHECK(false, "floats do not meet in this reduction");
  }
}

Real RealAccumulator::result() const {
  TDSL_CHECK(count_ > 0, "an empty reduction has no result of its own");
  if (count_ == 1) return value_;
  const auto with = [this](double bound) {
    Real result = value_;
    result.bound = bound;
    return result;
  };
  const auto n = static_cast<double>(count_);
  switch (kind_) {
    case Monoid::Kind::kSum: {
      if (special_terms_) return with(operand_bounds_ < kOpen ? 0 : kOpen);
      if (operand_bounds_ == 0 && magnitude_ <= std::ldexp(1.0, digits_of(type_) + grain_)) return with(0);
      return with(detail::known(operand_bounds_ + (n + 2) * epsilon_of(type_) * magnitude_));
    }
    case Monoid::Kind::kProd: {
      const bool exact = value_.bound == 0 && grain_ >= 0 && magnitude(value_) <= std::ldexp(1.0, digits_of(type_));
      const double ulps = is_complex(type_) ? kProductUlps * n : n;
      return with(exact ? 0
                        : detail::known(value_.bound + detail::rounding(magnitude(value_), ulps * epsilon_of(type_),
                                                                        !special_terms_)));
    }
    // A different combination tree has different intermediate roundings, of the same size.
    case Monoid::Kind::kUser: return with(2 * value_.bound);
    default: return value_;
  }
}

double reordering(Scalar type, Real old, Real now) {
  RealAccumulator sum(Monoid::Kind::kSum, type, nullptr);
  sum.add({old.value, 0, old.imag});
  sum.add({now.value - old.value, 0, now.imag - old.imag});
  return sum.result().bound;
}

void WholeAccumulator::add(Whole term) {
  if (++count_ == 1) {
    value_ = term;
    return;
  }
  switch (kind_) {
    case Monoid::Kind::kAny: value_ = combine_bools(value_, term, true); return;
    case Monoid::Kind::kAll: value_ = combine_bools(value_, term, false); return;
    case Monoid::Kind::kUser: value_ = combine_->combine({{}, value_}, {{}, term}).whole; return;
    default: break;
  }
  const std::int64_t value = rt::visit_element_type(type_, [&](auto tag) -> std::int64_t {
    using T = typename decltype(tag)::type;
    using Number = std::conditional_t<scalar::Integer<T>, T, std::int64_t>;  // i64 for bools
    return combine_whole<Number>(kind_, value_.value, term.value);
  });
  value_ = {value, std::max(value_.bound, term.bound)};
}

void PositionAccumulator::add(Real term, std::int64_t position) {
  const double key = largest_ ? -term.value : term.value;
  if (std::isinf(term.bound)) open_ = true;
  const bool first = !started_;
  started_ = true;
  const bool nan_holds = !first && best_.value != best_.value;
  const bool wins = first || (!nan_holds && (key != key || key < best_.value));
  const Real candidate{key, term.bound};
  if (nan_holds) return;
  if (first || wins) {
    if (!first) {
      rival_ = has_rival_ ? std::min(rival_, best_.value - best_.bound) : best_.value - best_.bound;
      has_rival_ = true;
    }
    best_ = candidate;
    position_ = position;
    return;
  }
  rival_ = has_rival_ ? std::min(rival_, key - term.bound) : key - term.bound;
  has_rival_ = true;
}

void PositionAccumulator::add(Whole term, std::int64_t position) {
  if (term.bound != 0) open_ = true;
  const std::int64_t key = ordered_bits(type_, term.value);
  const bool better = largest_ ? key > best_whole_ : key < best_whole_;
  if (started_ && !better) return;
  started_ = true;
  best_whole_ = key;
  position_ = position;
}

Whole PositionAccumulator::result() const {
  const bool rival_may_win = has_rival_ && rival_ < best_.value + best_.bound;
  return {position_, open_ || rival_may_win ? kOpen : 0};
}

}  // namespace tdsl::ir::eval
