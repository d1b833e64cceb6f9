#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/value.h"
#include "runtime/exact.h"

namespace tdsl::ir {

/// A symbolic integer: a polynomial with integer coefficients over *atoms*. An atom is a rank-0 integer value of the
/// graph (dimension, param, loop variable, computed scalar) or a quotient or remainder that did not simplify.
/// Polynomials are kept in normal form, so equal polynomials compare equal.
class Extent {
 public:
  struct Atom;  ///< defined below
  using AtomRef = std::shared_ptr<const Atom>;
  /// A product of atoms, sorted by `Atom` order; empty for the constant term.
  using Monomial = std::vector<AtomRef>;
  struct MonomialLess {
    bool operator()(const Monomial& a, const Monomial& b) const;
  };
  using Terms = std::map<Monomial, std::int64_t, MonomialLess>;

  Extent() = default;             ///< zero
  Extent(std::int64_t constant);  // NOLINT(google-explicit-constructor): integers are extents
  [[nodiscard]] static Extent of(ValueId v);

  friend Extent operator+(const Extent& a, const Extent& b);
  friend Extent operator-(const Extent& a, const Extent& b);
  friend Extent operator*(const Extent& a, const Extent& b);
  /// Truncating quotient and C's remainder; simplified if both are constant or a constant divisor divides every
  /// coefficient (never by a symbolic divisor: a division by 0 must stay one). The divisor can be 0 only at run time,
  /// when evaluate() throws std::domain_error.
  [[nodiscard]] static Extent quotient(const Extent& a, const Extent& b);
  [[nodiscard]] static Extent remainder(const Extent& a, const Extent& b);

  friend bool operator==(const Extent& a, const Extent& b);

  [[nodiscard]] std::optional<std::int64_t> constant() const;
  /// The value if the extent is exactly one atom that is a value, with coefficient 1.
  [[nodiscard]] std::optional<ValueId> as_value() const;
  /// All values used in the extent, without repetition, in increasing order.
  [[nodiscard]] std::vector<ValueId> values() const;
  /// Wraps like the i64 arithmetic it represents.
  [[nodiscard]] std::int64_t evaluate(const std::function<std::int64_t(ValueId)>& value) const;
  /// The same without wrapping, except inside quotients and remainders.
  [[nodiscard]] rt::Exact evaluate_exactly(const std::function<std::int64_t(ValueId)>& value) const;
  /// Replaces values by extents (values with result nullopt stay).
  [[nodiscard]] Extent substitute(const std::function<std::optional<Extent>(ValueId)>& f) const;
  /// Human-readable and text form, e.g. `2*n + 1`; `name` prints a value.
  [[nodiscard]] std::string to_string(const std::function<std::string(ValueId)>& name) const;
  [[nodiscard]] const Terms& terms() const { return terms_; }

 private:
  [[nodiscard]] static Extent of_atom(Atom atom);
  Terms terms_;
};

/// The constituent of an extent: a value, or quotient/remainder of two extents.
struct Extent::Atom {
  enum class Kind : std::uint8_t { kValue, kQuotient, kRemainder } kind = Kind::kValue;
  ValueId value;
  Extent numerator;
  Extent denominator;
};

/// The degree of the polynomial; a quotient or remainder counts as one atom.
[[nodiscard]] std::size_t degree_of(const Extent& e);
/// The product, unless it would have too many terms or factors to be useful: sizes that are products of products, `let
/// b = a * a; let c = b * b; …`, grow exponentially.
[[nodiscard]] std::optional<Extent> product_if_small(const Extent& a, const Extent& b);
/// `e.substitute(f)` under the same condition.
[[nodiscard]] std::optional<Extent> substitute_if_small(const Extent& e,
                                                        const std::function<std::optional<Extent>(ValueId)>& f);

enum class ExtentOrder : std::uint8_t { kEqual, kDifferent, kUnknown };

/// Compile-time comparison of two sizes (language page, section 3): equal polynomials agree; a constant nonzero
/// difference, or two different dimension names by themselves, are different; all else is decided at run time.
/// `is_dimension` tells which values are dimension names.
[[nodiscard]] ExtentOrder compare(const Extent& a, const Extent& b, const std::function<bool(ValueId)>& is_dimension);

}  // namespace tdsl::ir
