#pragma once

#include "frontend/lower/lowerer.h"

// Index variables, their ranges, and subscripts.
namespace tdsl::frontend {

/// A range of indices `start + step * k`.
struct SlicePart {
  ir::Expr start;
  ir::Extent step = 1;
  ir::Extent length;  ///< from the start to the end, whatever the step
  ir::Extent extent;
};

/// What a loop statement runs over. A step that is no constant is a value, and the loop counts its iterations.
struct LoopRange {
  ir::ValueId begin;
  ir::ValueId end;
  std::int64_t step = 1;
  ir::ValueId computed_step;
};

/// Binds `name` as index variable over an explicit range; a range that depends on other index variables gives a
/// guard. `may_move`: the name may stand for a label plus something, as a reduction's may.
void bind_range(Lowerer& lowerer, const ast::Identifier& name, const ast::ExprPtr& lower, const ast::ExprPtr& upper,
                const ast::ExprPtr& step, std::vector<std::int32_t>& labels, bool may_move = false);
std::int32_t bind_index(GraphBuilder& graph, Names& names, const ast::Identifier& name);
/// Ranges from bare uses for the labels that have none.
void resolve_labels(GraphBuilder& graph, Reports& reports, Shapes& shapes, const std::vector<std::int32_t>& labels);
std::int64_t step_of(Lowerer& lowerer, const ast::ExprPtr& step);
/// Whether the step is known when compiling and short enough to be added to any bound without a look.
[[nodiscard]] bool has_short_step(Lowerer& lowerer, const ast::Expr& step);
/// The number that an integer scalar is known to be when compiling, as `s` after `let s = 2;`.
[[nodiscard]] std::optional<std::int64_t> known_integer(const GraphBuilder& graph, const ir::Expr& e);
Tensor lower_subscript(Lowerer& lowerer, const ast::Subscript& s, const ir::SourceRange& range);
/// `padded`: positions outside the dimension are legal too.
ir::Expr subscript_expr(Lowerer& lowerer, const ast::Expr& e, const Dim& dim, bool padded = false);
SlicePart slice_part(Lowerer& lowerer, const ast::SliceSubscript& s, const Dim& dim, const ir::SourceRange& range);
/// The position in the sliced dimension of the slice's element `label`.
ir::Expr position_in(const GraphBuilder& graph, const SlicePart& part, std::int32_t label);
void require_subscripts(Reports& reports, std::size_t given, const Tensor& base, const std::string& name,
                        const ir::SourceRange& range);

}  // namespace tdsl::frontend
