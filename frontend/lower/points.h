#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "frontend/sema/tensor.h"
#include "frontend/syntax/ast.h"

// Functions that are applied per element: which they are, and what their arguments depend on.
namespace tdsl::frontend {

/// A function of the program by its name; null: there is none.
using FunctionOfName = std::function<const ast::Function*(const std::string&)>;

/// The enclosing index variables that the element depends on.
[[nodiscard]] std::vector<std::int32_t> free_labels(const Tensor& t);
/// Whether it depends on the operands of the monoid that is being declared.
[[nodiscard]] bool depends_on_operands(const Tensor& t);
/// Whether the function calls `grad`.
[[nodiscard]] bool differentiates(const ast::Function& f);
/// Whether the function, or one that it calls, draws random numbers.
[[nodiscard]] bool draws(const ast::Function& f, const FunctionOfName& called);
/// Whether the body, with those of the functions it calls, is one expression over scalars: nothing is reduced, read or
/// drawn. `is_operation` tells built-in functions of scalars.
[[nodiscard]] bool is_arithmetic(const ast::Function& f, const FunctionOfName& called,
                                 const std::function<bool(const ast::Call&)>& is_operation);
/// Whether the body does more than name scalars: it cannot become one expression.
[[nodiscard]] bool runs_statements(const ast::Function& f);

}  // namespace tdsl::frontend
