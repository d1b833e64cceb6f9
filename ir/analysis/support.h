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
/// formula is false, the expression's value is certainly 0. An expression *carries absence* if its support contains a
/// read: its 0 then wins as factor or numerator, even against inf and nan.
///
///     A[i, k] * B[k, j]       all(0, 1)          A[i, j] + D[i, j]   always
///     A[i, j] + B[i, j]       any(0, 1)          A[i, j] != 0.0      0
struct Support {
  enum class Kind : std::uint8_t {
    kNever,   ///< the value is 0 everywhere
    kAlways,  ///< may be nonzero anywhere
    kValue,   ///< `sparse(x)` of a dense x: carries absence, but without information on where x is 0
    kRead,
    kAll,
    kAny
  } kind = Kind::kAlways;
  int read = -1;               ///< for kRead and kValue: its number in SupportFinder::reads()
  std::vector<Support> parts;  ///< for kAll and kAny: at least two, none of them kNever, kAlways or of the same kind

  friend bool operator==(const Support&, const Support&) = default;
};
[[nodiscard]] bool carries_absence(const Support& s);
/// `all(0, any(1, 2))`; `name` gives the name of a read.
[[nodiscard]] std::string text_of(const Support& s, const std::function<std::string(int)>& name);
[[nodiscard]] Support all_of(std::vector<Support> parts);
[[nodiscard]] Support any_of(std::vector<Support> parts);
/// The formula's value if exactly the reads marked `present` are not 0.
[[nodiscard]] bool holds(const Support& s, const std::vector<bool>& present);

/// Semantics of float products: before the pass `absence` every factor that carries absence wins (see the language
/// page); afterwards only the operator decides.
enum class Products : std::uint8_t { kImplied, kExplicit };

/// The supports of expressions over a common list of reads. Equal reads share a number.
class SupportFinder {
 public:
  SupportFinder(const Program& program, Products products) : program_(program), products_(products) {}

  /// A null expression is true everywhere.
  [[nodiscard]] const Support& of(const Expr& e);
  /// Sparse reads and, for kValue, the `sparse(x)`, in order of first occurrence.
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

/// The points of the Compute that can change its result: guard and body if a body of 0 contributes nothing, else the
/// guard. `reads`: the meaning of the numbers.
[[nodiscard]] Support support_of(const Program& program, const Compute& compute, std::vector<Expr>* reads = nullptr,
                                 Products products = Products::kExplicit);
/// True if a zero value does not change the result.
[[nodiscard]] bool zero_contributes_nothing(const Compute& compute);
/// Gives results of Computes from value number `first` the inferred storage, unless a type, variable or routine
/// requires dense: for values added by `differentiate`.
void infer_storage(Program& program, std::size_t first);
/// The result's format unless a type prescribes one.
[[nodiscard]] Format inferred_format(const Program& program, const Compute& compute, Products products);

}  // namespace tdsl::ir
