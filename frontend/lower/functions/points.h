#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "frontend/sema/tensor.h"
#include "frontend/syntax/ast.h"

// Functions applied per element: their detection, and the dependences of their arguments.
namespace tdsl::frontend {

/// Returns the function of the program that a name denotes in a function's body, or null.
using FunctionOfName = std::function<const ast::Function*(const ast::Function&, const std::string&)>;

/// The enclosing index variables on which the element depends.
[[nodiscard]] std::vector<std::int32_t> free_labels(const Tensor& t);
/// True if it depends on the operands of the monoid being declared.
[[nodiscard]] bool depends_on_operands(const Tensor& t);
/// True if the function calls `grad`.
[[nodiscard]] bool differentiates(const ast::Function& f);
/// True for `randint` and `permutation`.
[[nodiscard]] bool draws_integers(const std::string& name);
/// True for a call of a built-in that draws random numbers of the run: one without `key=`.
[[nodiscard]] bool draws_afresh(const ast::Call& call);
/// True if the function or one of its callees draws random numbers of the run.
[[nodiscard]] bool draws(const ast::Function& f, const FunctionOfName& called);
/// True if the body, with its callees, is one expression over scalars, without reductions, tensor reads or random
/// numbers. `is_operation` is true for built-in functions of scalars.
[[nodiscard]] bool is_arithmetic(const ast::Function& f, const FunctionOfName& called,
                                 const std::function<bool(const ast::Call&)>& is_operation);
/// True if the body has more than scalar definitions, so that it cannot become one expression.
[[nodiscard]] bool runs_statements(const ast::Function& f, const FunctionOfName& called);

}  // namespace tdsl::frontend
