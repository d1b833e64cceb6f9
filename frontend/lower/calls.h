#pragma once

#include "frontend/lower/lowerer.h"

// Calls, and arguments of built-in functions.
namespace tdsl::frontend {

/// Lowers a call with one result.
Tensor lower_call(Lowerer& lowerer, const ast::Call& call, const ir::SourceRange& range);
/// True if the call returns a scalar for scalars: `exp(x)`, `max(x, y)`.
[[nodiscard]] bool is_scalar_function(const ast::Call& call);
/// The `least` to `most` positional arguments; other arguments must be `named`.
std::vector<Tensor> positional(Lowerer& lowerer, const ast::Call& call, std::size_t least, std::size_t most,
                               const ir::SourceRange& range, const std::set<std::string>& named = {});
/// The argument, or null if it is omitted.
const ast::Expr* named_argument(const ast::Call& call, const std::string& name);
/// The sizes given by the arguments from `first` to `last`.
std::vector<Dim> extent_arguments(Lowerer& lowerer, const ast::Call& call, std::size_t first,
                                  const ir::SourceRange& range, std::size_t last = SIZE_MAX);

}  // namespace tdsl::frontend
