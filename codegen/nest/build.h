#pragma once

#include <utility>
#include <vector>

#include "codegen/nest/common_parts.h"
#include "codegen/nest/nest.h"

// Shared by the nest builders.

namespace tdsl::nest {

/// The expression with parts replaced, outer ones first; `replacement` returns null for unchanged parts.
template <class F>
[[nodiscard]] Expr with_parts(const Expr& e, const F& replacement, bool subscripts) {
  if (Expr other = replacement(e)) return other;
  if (!subscripts && std::holds_alternative<ir::Read>(e->op)) return e;
  std::vector<Expr> parts = ir::children(*e);
  for (Expr& part : parts) part = with_parts(part, replacement, subscripts);
  return ir::with_children(e, parts);
}

/// A value, preceded by locals for its common subexpressions.
struct Named {
  std::vector<Let> lets;
  Expr value;
};
/// `both`: which selects compute both branches. Adds the locals to the nest.
[[nodiscard]] Named named(Nest& nest, Expr value, const codegen::BothBranches& both);

/// `if condition { body } else { otherwise }`; `if !condition { otherwise }` if the body is empty.
[[nodiscard]] If branch(Expr condition, Body body, Body otherwise);

/// Adds a variable to the nest.
inline ValueId added(Nest& nest, Variable variable) {
  nest.variables.push_back(std::move(variable));
  return {static_cast<std::int32_t>(nest.variables.size() - 1)};
}
inline ValueId added_local(Nest& nest, std::string name, ir::Scalar type) {
  return added(nest, {Variable::Role::kLocal, std::move(name), {type, {}, {}}});
}
/// A read of a scalar variable.
[[nodiscard]] inline Expr scalar_read(const Nest& nest, ValueId v) {
  return ir::read(nest.variable(v).type.scalar, v, {});
}

}  // namespace tdsl::nest
