#pragma once

#include <functional>
#include <map>
#include <set>

#include "codegen/nest/nest.h"

// What printer, verifier and builder ask about nests.

namespace tdsl::nest {

/// Calls `f` for every statement, outer ones first.
void for_each_statement(const Body& body, const std::function<void(const Statement&)>& f);
/// Calls `f` for every expression of a statement itself, subscripts included; parts that are missing are left out.
void for_each_expr(const Statement& statement, const std::function<void(const Expr&)>& f);

/// What the body's expressions read.
[[nodiscard]] std::set<ValueId> values_read(const Nest& nest);

/// Whether evaluating the expression may stop the run: by arithmetic, a procedure, or a bounded subscript.
[[nodiscard]] bool may_stop(const Nest& nest, const Expr& e);
/// Why the iterations of a loop over this body cannot run together; empty if they can. `index`: the loop's.
[[nodiscard]] std::string not_simd(const Nest& nest, int index, const Body& body);

/// What local constants stand for.
using Definitions = std::map<ValueId, Expr>;
[[nodiscard]] Definitions definitions_of(const Nest& nest);
/// The expression without local constants.
[[nodiscard]] Expr expanded(const Definitions& definitions, const Expr& e);
/// Whether both branches of a select are computed, so that the loop around it becomes vectors
/// (codegen/loops/vector_forms.h).
[[nodiscard]] bool takes_both(const Nest& nest, const Definitions& definitions, const ir::Select& select);

}  // namespace tdsl::nest
