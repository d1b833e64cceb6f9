#pragma once

#include "frontend/lower/lowerer.h"

// Functions of the program: calls are put in place, per element, or as procedures.
namespace tdsl::frontend {

/// Binds the dimensions of the parameter's type, and brings the argument to it.
std::pair<Tensor, ir::Type> fitted(Lowerer& lowerer, const ast::Identifier& parameter, const ast::TypeExpr& type,
                                   const Tensor& arg, const SourceRange& range);
std::vector<Tensor> call_function(Lowerer& lowerer, const ast::Call& call, const ir::SourceRange& range);
/// `points`: the index variables for whose values the call is made.
std::vector<Tensor> inline_body(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args,
                                const ast::Call& call, const ir::SourceRange& range,
                                const std::vector<std::int32_t>& points);
/// The call when the whole expression is one that gives several values.
const ast::Call* tuple_call(const Declarations& declared, const ast::ExprPtr& value);
std::vector<Tensor> lower_tuple_call(Lowerer& lowerer, const ast::Call& call, const ir::SourceRange& range);
/// Whether `return` comes last in the body, once, and nowhere else; reports where not.
bool check_returns(Reports& reports, const ast::Function& f);
/// Names in the bodies of functions that nothing calls, and so nothing lowers.
void check_uncalled(Lowerer& lowerer);
/// Whether calls, when all functions are put in place, nest no deeper than expressions may; an error if not.
[[nodiscard]] bool calls_fit(Reports& reports, const Declarations& declared);
CallNumbers number_calls(const Declarations& declared,
                         const std::function<void(const std::function<void(const ast::Expr&)>&)>& each);
/// The call of a function that is arithmetic, as one operation; none where it would evaluate what the body need not.
std::optional<Tensor> call_as_procedure(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args,
                                        const ast::Call& call, const ir::SourceRange& range);
Tensor call_at_points(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args, const ast::Call& call,
                      const ir::SourceRange& range, const std::vector<std::int32_t>& drawn_at);

}  // namespace tdsl::frontend
