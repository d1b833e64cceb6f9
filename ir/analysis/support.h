#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

// Where an expression over sparse tensors can differ from 0.

namespace tdsl::ir {

/// A monotone formula over an expression's sparse reads, each of them true where the element read is not 0. Where the
/// formula is false the expression's value is certainly 0. An expression *carries absence* if its support mentions a
/// read: its 0 then wins as factor or numerator, even against inf and nan.
///
///     A[i, k] * B[k, j]       all(0, 1)          A[i, j] + D[i, j]   always
///     A[i, j] + B[i, j]       any(0, 1)          A[i, j] != 0.0      0
struct Support {
  enum class Kind : std::uint8_t {
    kNever,   ///< the value is 0 everywhere
    kAlways,  ///< nothing is known
    kValue,   ///< `sparse(x)` of a dense x: carries absence, but says nothing about where x is 0
    kRead,
    kAll,
    kAny
  } kind = Kind::kAlways;
  int read = -1;               ///< of kRead and kValue: its number in SupportFinder::reads()
  std::vector<Support> parts;  ///< of kAll and kAny: at least two, none of them kNever, kAlways or of the same kind

  friend bool operator==(const Support&, const Support&) = default;
};
[[nodiscard]] bool carries_absence(const Support& s);
/// `all(0, any(1, 2))`; `name` says what a read is called.
[[nodiscard]] std::string text_of(const Support& s, const std::function<std::string(int)>& name);
[[nodiscard]] Support all_of(std::vector<Support> parts);
[[nodiscard]] Support any_of(std::vector<Support> parts);
/// The formula's value where exactly the reads marked `present` are not 0.
[[nodiscard]] bool holds(const Support& s, const std::vector<bool>& present);

/// What products of floats mean: before `with_explicit_absence` every factor that carries absence wins, as the language
/// page says; after it the operator says which one does.
enum class Products : std::uint8_t { kImplied, kExplicit };

/// The supports of expressions over the same reads. Equal reads have one number.
class SupportFinder {
 public:
  SupportFinder(const Program& program, Products products) : program_(program), products_(products) {}

  /// A null expression is true everywhere.
  [[nodiscard]] const Support& of(const Expr& e);
  /// Sparse reads and, of kValue, the `sparse(x)`, in the order in which they were met.
  [[nodiscard]] const std::vector<Expr>& reads() const { return reads_; }

 private:
  [[nodiscard]] Support found(const Expr& e);
  [[nodiscard]] Support of_unary(const Expr& e, const Unary& u);
  [[nodiscard]] Support of_binary(const Expr& e, const Binary& b);
  [[nodiscard]] Support of_product(const Expr& e, const Binary& b);
  [[nodiscard]] Support of_comparison(const Binary& b);
  [[nodiscard]] int number(const Expr& e);

  const Program& program_;
  Products products_;
  std::vector<Expr> reads_;
  std::map<const ExprNode*, std::pair<Expr, Support>> known_;
};

/// The points of the compute that can change its result: guard and body where a body of 0 contributes nothing, else the
/// guard. `reads`: what the numbers mean.
[[nodiscard]] Support support_of(const Program& program, const Compute& compute, std::vector<Expr>* reads = nullptr,
                                 Products products = Products::kExplicit);
/// Whether a point with a body of 0 leaves everything as it would be without it.
[[nodiscard]] bool zero_contributes_nothing(const Compute& compute);
/// Gives results of computes from value number `first` on the storage that is inferred, where no type, variable or
/// routine asks for dense: what `differentiate` has added.
void infer_storage(Program& program, std::size_t first);
/// Which dimensions of the result are stored sparse if no type says so; empty if none is.
[[nodiscard]] std::vector<bool> inferred_sparse(const Program& program, const Compute& compute, Products products);

}  // namespace tdsl::ir
