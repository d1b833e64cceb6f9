#pragma once

#include "frontend/lower/lowerer.h"

// Calls, and the arguments of calls of built-in functions.
namespace tdsl::frontend {

/// A call with one result.
Tensor lower_call(Lowerer& lowerer, const ast::Call& call, const ir::SourceRange& range);
/// Whether the call gives a scalar for scalars: `exp(x)`, `max(x, y)`.
[[nodiscard]] bool is_scalar_function(const ast::Call& call);
/// The arguments without a name, `least` to `most` of them; others must be `named`.
std::vector<Tensor> positional(Lowerer& lowerer, const ast::Call& call, std::size_t least, std::size_t most,
                               const ir::SourceRange& range, const std::set<std::string>& named = {});
/// Null if it is not given.
const ast::Expr* named_argument(const ast::Call& call, const std::string& name);
/// The sizes that the arguments from `first` on, up to `last`, give.
std::vector<Dim> extent_arguments(Lowerer& lowerer, const ast::Call& call, std::size_t first,
                                  const ir::SourceRange& range, std::size_t last = SIZE_MAX);

}  // namespace tdsl::frontend
