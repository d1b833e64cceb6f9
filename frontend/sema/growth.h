#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// Number of operations of a call after inlining the function, its locals and its callees:
///
///     fn f(x) { let y = x * x; return y * y + 1.0; }      own 5, uses {4}: f(a + b) has 5 + 4 * 3 operations
struct Growth {
  double own = 0;
  std::vector<double> uses;  ///< per parameter: number of occurrences after inlining
};

/// Computes the growth of functions, once each.
class GrowthFinder {
 public:
  /// `called`: returns the function of the program that the name denotes in a function's body, or null.
  using Called = std::function<const ast::Function*(const ast::Function&, const std::string&)>;
  explicit GrowthFinder(Called called) : called_(std::move(called)) {}
  /// The growth of `f`; finite for recursive functions.
  const Growth& of(const ast::Function& f);

 private:
  using Names = std::map<std::string, Growth>;
  Growth of(const ast::Function& f, const ast::Expr& e, const Names& names);

  Called called_;
  std::map<const ast::Function*, Growth> known_;
};

}  // namespace tdsl::frontend
