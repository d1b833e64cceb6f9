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

// Note [Versions]. `grad` differentiates at the values that the variables had when the loss was computed; a `var` may
// have changed since. Every assignment is a clock tick: each symbol records its values and their ticks, and the tick of
// a value is the one at which a variable first received it.

/// The assignments of the program, in order.
class Versions {
 public:
  explicit Versions(GraphBuilder& graph) : graph_(graph) {}
  /// Records the assignment of a value to a variable.
  void set(const SymbolRef& symbol, ir::ValueId value);
  void set(const std::vector<SymbolRef>& symbols, const std::vector<ir::ValueId>& values);
  /// Records the names by which `grad` differentiates in the module.
  void note_differentiated(const ast::Module& module);
  /// The value for a variable or parameter initialised with `value`: a copy if `grad` must distinguish it from another
  /// variable of that value.
  ir::ValueId own_value(const ast::Identifier& name, ir::ValueId value);
  /// The tick at which a variable first received the value; the current tick if none did.
  [[nodiscard]] std::int64_t tick_of(ir::ValueId value) const;

 private:
  GraphBuilder& graph_;
  std::set<std::string> names_;  ///< by which `grad` differentiates, in all scopes
  std::int64_t clock_ = 0;       ///< number of assignments
  std::map<ir::ValueId, std::int64_t> since_;
};

/// The variable's value at this tick; its first value if it did not exist yet.
[[nodiscard]] ir::ValueId value_at(const Symbol& symbol, std::int64_t tick);

}  // namespace tdsl::frontend
