#pragma once

#include <utility>
#include <vector>

#include "frontend/sema/tensor.h"

namespace tdsl::frontend {

/// The conditions under which the current expression is evaluated: those of expressions (`c` of `if c then a else b`, a
/// `where`, the range of an index variable), which become guards of nodes, and the number of enclosing branches, which
/// are regions of the graph.
class Guards {
 public:
  void add(ir::Expr condition) { conditions_.push_back(std::move(condition)); }
  void drop() { conditions_.pop_back(); }
  /// The number of conditions, for `take`.
  [[nodiscard]] std::size_t size() const { return conditions_.size(); }
  [[nodiscard]] bool empty() const { return conditions_.empty(); }
  [[nodiscard]] const std::vector<ir::Expr>& conditions() const { return conditions_; }
  /// The conjunction of all conditions; null if there are none.
  [[nodiscard]] ir::Expr all() const { return from(0); }
  /// Removes the conditions from number `first` on; returns their conjunction, null if there are none.
  ir::Expr take(std::size_t first) {
    ir::Expr taken = from(first);
    conditions_.resize(first);
    return taken;
  }
  /// The same enclosing branches without conditions.
  [[nodiscard]] Guards without_conditions() const {
    Guards outside = *this;
    outside.conditions_.clear();
    return outside;
  }
  void enter_branch() { ++branches_; }
  void leave_branch() { --branches_; }
  [[nodiscard]] bool in_branch() const { return branches_ > 0; }
  /// True if the expression may remain unevaluated.
  [[nodiscard]] bool any() const { return !empty() || in_branch(); }

 private:
  [[nodiscard]] ir::Expr from(std::size_t first) const {
    ir::Expr conjunction;
    for (std::size_t k = first; k < conditions_.size(); ++k) conjunction = both(conjunction, conditions_[k]);
    return conjunction;
  }

  std::vector<ir::Expr> conditions_;
  int branches_ = 0;
};

/// Restores a variable at the end of the scope, also after an error.
template <typename T>
class Restored {
 public:
  explicit Restored(T& variable) : variable_(variable), saved_(variable) {}
  Restored(T& variable, T meanwhile) : variable_(variable), saved_(std::exchange(variable, std::move(meanwhile))) {}
  ~Restored() { variable_ = std::move(saved_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  T& variable_;
  T saved_;
};

}  // namespace tdsl::frontend
