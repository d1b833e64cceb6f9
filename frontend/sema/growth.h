#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// How many operations a call has when the function, the names in it and the functions it calls are put in place:
///
///     fn f(x) { let y = x * x; return y * y + 1.0; }      own 5, uses {4}: f(a + b) has 5 + 4 * 3 operations
struct Growth {
  double own = 0;
  std::vector<double> uses;  ///< per parameter, how often it comes to stand there
};

/// Finds the growth of functions, each once, whatever calls them.
class GrowthFinder {
 public:
  /// `called`: the function of the program with that name, or null.
  explicit GrowthFinder(std::function<const ast::Function*(const std::string&)> called) : called_(std::move(called)) {}
  /// Of a function that calls itself something finite.
  const Growth& of(const ast::Function& f);

 private:
  using Names = std::map<std::string, Growth>;
  Growth of(const ast::Expr& e, const Names& names, std::size_t parameters);

  std::function<const ast::Function*(const std::string&)> called_;
  std::map<const ast::Function*, Growth> known_;
};

}  // namespace tdsl::frontend
