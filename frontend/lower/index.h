#pragma once

#include "frontend/lower/lowerer.h"

// Index variables, their ranges, and subscripts.
namespace tdsl::frontend {

/// A range of indices `start + step * k`.
struct SlicePart {
  ir::Expr start;
  ir::Extent step = 1;
  ir::Extent length;  ///< from start to end, regardless of the step
  ir::Extent extent;
};

/// The range of a loop statement. With a non-constant step, the loop counts iterations.
struct LoopRange {
  ir::ValueId begin;
  ir::ValueId end;
  std::int64_t step = 1;
  ir::ValueId computed_step;
};

/// Binds `name` as an index variable over an explicit range; a range that depends on other index variables adds a
/// guard. `may_move`: the name may denote a label plus an offset, as in reductions.
void bind_range(Lowerer& lowerer, const ast::Identifier& name, const ast::ExprPtr& lower, const ast::ExprPtr& upper,
                const ast::ExprPtr& step, std::vector<std::int32_t>& labels, bool may_move = false);
std::int32_t bind_index(GraphBuilder& graph, Names& names, const ast::Identifier& name);
/// Infers the ranges of labels without explicit range from bare uses.
void resolve_labels(GraphBuilder& graph, Reports& reports, Shapes& shapes, const std::vector<std::int32_t>& labels);
std::int64_t step_of(Lowerer& lowerer, const ast::ExprPtr& step);
/// True if the step is a compile-time constant small enough to be added to any bound without overflow.
[[nodiscard]] bool has_short_step(Lowerer& lowerer, const ast::Expr& step);
/// The compile-time value of an integer scalar, such as `s` after `let s = 2;`.
[[nodiscard]] std::optional<std::int64_t> known_integer(const GraphBuilder& graph, const ir::Expr& e);
Tensor lower_subscript(Lowerer& lowerer, const ast::Subscript& s, const ir::SourceRange& range);
/// `padded`: subscripts outside the dimension are legal.
ir::Expr subscript_expr(Lowerer& lowerer, const ast::Expr& e, const Dim& dim, bool padded = false);
SlicePart slice_part(Lowerer& lowerer, const ast::SliceSubscript& s, const Dim& dim, const ir::SourceRange& range);
/// The subscript in the sliced dimension of the slice's element `label`.
ir::Expr position_in(const GraphBuilder& graph, const SlicePart& part, std::int32_t label);
void require_subscripts(Reports& reports, std::size_t given, const Tensor& base, const std::string& name,
                        const ir::SourceRange& range);

}  // namespace tdsl::frontend
