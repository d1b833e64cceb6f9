#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontend/lower/state/graph.h"
#include "frontend/sema/scope.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

// Note [Versions]. `grad` differentiates at the values the variables had when the loss was computed; a `var` may have
// another value by now. Every assignment is a tick of a clock: each symbol keeps the values it got and the ticks at
// which it got them, and the tick of a value is the one at which it first became a variable's.

/// The assignments of the program, in order.
class Versions {
 public:
  explicit Versions(GraphBuilder& graph) : graph_(graph) {}
  /// Every assignment of a value to a variable.
  void set(const SymbolRef& symbol, ir::ValueId value);
  void set(const std::vector<SymbolRef>& symbols, const std::vector<ir::ValueId>& values);
  /// Remembers the names that `grad` differentiates by in the module.
  void note_differentiated(const ast::Module& module);
  /// The value that a variable or parameter gets for `value`: a copy if `grad` must tell it from another variable of
  /// that value.
  ir::ValueId own_value(const ast::Identifier& name, ir::ValueId value);
  /// The tick at which the value first became a variable's; now, if it never did.
  [[nodiscard]] std::int64_t tick_of(ir::ValueId value) const;

 private:
  GraphBuilder& graph_;
  std::set<std::string> names_;  ///< that `grad` differentiates by, in all scopes
  std::int64_t clock_ = 0;       ///< counts assignments
  std::map<ir::ValueId, std::int64_t> since_;
};

/// The value of a variable at this tick; its first value if it did not exist yet.
[[nodiscard]] ir::ValueId value_at(const Symbol& symbol, std::int64_t tick);

}  // namespace tdsl::frontend
