#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/algebra/keys.h"
#include "ir/graph/extent.h"

// Functions and conditions on keys are integer arithmetic over the key's values, written k0, k1, .. in the text form;
// in a flatMap, `t` numbers the results of one tuple and follows the last key dimension. `/` truncates, `mod` is the
// remainder.

namespace tdsl::ir::algebra {

/// The value of key dimension `dim`.
[[nodiscard]] Extent key_value(int dim);
/// The value of `e` at `key`. Throws std::domain_error on division by 0.
[[nodiscard]] Index value_at(const Extent& e, const Key& key);

/// A new key from a key: `[2*k0 + k1]`, `[k1, k0]`.
struct KeyFunction {
  std::vector<Extent> values;

  [[nodiscard]] static KeyFunction identity(std::size_t arity);
  /// The key's values at `dims`, in their order.
  [[nodiscard]] static KeyFunction select(const Dims& dims);
  [[nodiscard]] bool is_identity(std::size_t arity) const { return *this == identity(arity); }
  [[nodiscard]] Key operator()(const Key& key) const;
  /// The first position of the result that equals dimension `dim` unchanged.
  [[nodiscard]] std::optional<int> passes(int dim) const;
  /// The largest key dimension used, or -1.
  [[nodiscard]] int last_dim() const;

  friend bool operator==(const KeyFunction& a, const KeyFunction& b) = default;
};

/// `left relation right`, in normal form: on both sides all coefficients are positive.
struct Comparison {
  enum class Relation : std::uint8_t { kEqual, kNotEqual, kLess, kAtMost } relation = Relation::kEqual;
  Extent left;
  Extent right;
};

/// A conjunction of comparisons of a key's values: `k0 == k1 and k1 < 3`. Empty: true.
class Predicate {
 public:
  Predicate() = default;
  explicit Predicate(std::vector<Comparison> all);

  [[nodiscard]] bool operator()(const Key& key) const;
  [[nodiscard]] const std::vector<Comparison>& comparisons() const { return all_; }
  [[nodiscard]] bool always() const { return all_.empty(); }
  /// The key dimensions it depends on, in increasing order.
  [[nodiscard]] Dims dims() const;
  /// The predicate composed with `f`: holds for a key if this one holds for f(key).
  [[nodiscard]] Predicate before(const KeyFunction& f) const;

  friend Predicate operator&&(const Predicate& a, const Predicate& b);

 private:
  std::vector<Comparison> all_;
};

/// Prints integers over key values; dimension number `arity`, if present, is called `t`.
class KeyPrinter {
 public:
  explicit KeyPrinter(std::size_t arity) : arity_(arity) {}
  [[nodiscard]] std::string text(const Extent& e) const;
  [[nodiscard]] std::string text(const KeyFunction& f) const;
  [[nodiscard]] std::string text(const Predicate& p) const;

 private:
  std::size_t arity_;
};

}  // namespace tdsl::ir::algebra
