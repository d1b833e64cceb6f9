#pragma once

#include "frontend/lower/lowerer.h"

// Functions of the program: calls are inlined, applied per element, or turned into procedures.
namespace tdsl::frontend {

/// Binds the dimensions of the parameter's type and converts the argument to it.
std::pair<Tensor, ir::Type> fitted(Lowerer& lowerer, const ast::Identifier& parameter, const ast::TypeExpr& type,
                                   const Tensor& arg, const SourceRange& range);
std::vector<Tensor> call_function(Lowerer& lowerer, const ast::Call& call, const ir::SourceRange& range);
/// `points`: the index variables that distinguish evaluations of the call.
std::vector<Tensor> inline_body(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args,
                                const ast::Call& call, const ir::SourceRange& range,
                                const std::vector<std::int32_t>& points);
/// The call if the whole expression is a call with several results, else null.
const ast::Call* tuple_call(const Declarations& declared, const ast::ExprPtr& value);
std::vector<Tensor> lower_tuple_call(Lowerer& lowerer, const ast::Call& call, const ir::SourceRange& range);
/// False, with an error, unless the body has exactly one `return`, as its last statement.
bool check_returns(Reports& reports, const ast::Function& f);
/// Checks names in the bodies of functions without calls, which are not lowered.
void check_uncalled(Lowerer& lowerer);
/// False, with an error, if inlining all functions exceeds the nesting limit of expressions.
[[nodiscard]] bool calls_fit(Reports& reports, const Declarations& declared);
CallNumbers number_calls(const Declarations& declared,
                         const std::function<void(const std::function<void(const ast::Expr&)>&)>& each);
/// Lowers the call of an arithmetic function to one operation; nullopt if that would evaluate arguments that the body
/// may skip.
std::optional<Tensor> call_as_procedure(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args,
                                        const ast::Call& call, const ir::SourceRange& range);
Tensor call_at_points(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args, const ast::Call& call,
                      const ir::SourceRange& range, const std::vector<std::int32_t>& drawn_at);

}  // namespace tdsl::frontend
