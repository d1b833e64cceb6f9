#pragma once

#include "frontend/lower/lowerer.h"

// Lowers expressions to tensor expressions.
namespace tdsl::frontend {

ir::Expr integer_scalar(Lowerer& lowerer, const ast::Expr& e, const std::string& what);
ir::Expr condition(Lowerer& lowerer, const ast::Expr& e, const std::string& what);
ir::ValueId condition_value(Lowerer& lowerer, const ast::Expr& e, const std::string& what);
Tensor lower(Lowerer& lowerer, const ast::Expr& e);
Tensor lower_plain(Lowerer& lowerer, const ast::Expr& e);  ///< also allows pad()
std::optional<ReducerName> reducer(Lowerer& lowerer, const std::string& name, const ir::SourceRange& range);
Tensor lower_reduction(Lowerer& lowerer, const ast::Reduction& r, const ir::SourceRange& range);
Tensor reduce_whole(Lowerer& lowerer, const ReducerName& op, const Tensor& t, const ast::Call& call,
                    const ir::SourceRange& range);
std::vector<bool> reduced_axes(Lowerer& lowerer, const ast::Call& call, std::size_t rank);
std::int64_t axis_number(Lowerer& lowerer, const ast::Expr& e, std::size_t rank);
const MonoidEntry& user_monoid(Lowerer& lowerer, const std::string& name, const ir::SourceRange& range);

}  // namespace tdsl::frontend
