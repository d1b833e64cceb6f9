#include <algorithm>
#include <optional>

#include "codegen/affine.h"
#include "codegen/compute_lowering.h"
#include "ir/expr_build.h"

// Note [Positions in a flat dimension]
// A left subscript in which several labels count a position, row by row,
//
//     K[i * c + k] = A[i, k]          k in 0..c
//
// cannot be solved for one label, but for all at once: every element e of K has exactly one point, i = e / c, k = e % c.
// So the labels give way to one that runs over the positions, and the left side is plain again. It would be a scatter
// otherwise, for which every task looks at every point.

namespace tdsl::codegen {

namespace {

/// The labels of a position, innermost first, and how far apart their neighbours lie.
struct Position {
  std::vector<std::size_t> labels;
  std::vector<Extent> strides;
  Extent count{1};  ///< of positions
  Extent first;     ///< the subscript of position 0
};

/// Which position the form is over `out`, whose bounds are told by the same values as the form's coefficients. Nothing if
/// the labels do not lie densely in one another.
std::optional<Position> position_of(const AffineForm& form, const std::vector<ir::Label>& out) {
  if (form.terms.size() < 2) return std::nullopt;
  Position p;
  p.first = form.constant;
  std::vector<Term> rest = form.terms;
  while (!rest.empty()) {
    const auto next = std::ranges::find_if(rest, [&](const Term& t) { return t.coefficient == p.count; });
    if (next == rest.end()) return std::nullopt;
    const auto label = static_cast<std::size_t>(next->label);
    if (label >= out.size() || !(out[label].begin == Extent(0))) return std::nullopt;
    p.labels.push_back(label);
    p.strides.push_back(p.count);
    p.count = p.count * out[label].end;
    rest.erase(next);
  }
  return p;
}

}  // namespace

bool ComputeLowering::is_size(const Extent& e) {
  if (e.constant()) return *e.constant() >= 0;
  const auto of = [&](ValueId v) {
    return std::ranges::any_of(builder_.type(v).shape, [&](const Extent& size) { return builder_.rewritten(size, range_) == e; });
  };
  bool found = of(target_);
  const auto look = [&](const ir::ExprNode& n) {
    const auto* r = std::get_if<ir::Read>(&n.op);
    found = found || (r != nullptr && of(r->tensor));
  };
  for (const Expr& body : compute_.bodies) ir::for_each_node(body, look);
  if (compute_.guard) ir::for_each_node(compute_.guard, look);
  return found;
}

bool ComputeLowering::flat_left(std::size_t d) {
  const auto form = affine_of(compute_.left[d], [this](const Expr& x) { return builder_.hoist(x); });
  if (!form) return false;
  std::vector<ir::Label> out = compute_.out;
  for (ir::Label& l : out) {
    l.begin = builder_.rewritten(l.begin, range_);
    l.end = builder_.rewritten(l.end, range_);
  }
  const auto position = position_of(*form, out);
  if (!position) return false;
  const auto elsewhere = [&](std::size_t label) {
    return std::ranges::any_of(compute_.left, [&](const Expr& e) { return &e != &compute_.left[d] && ir::mentions_label(e, static_cast<std::int32_t>(label)); });
  };
  if (std::ranges::any_of(position->labels, elsewhere)) return false;

  // The position takes the place of its outermost label, the others go.
  const std::size_t outermost = position->labels.back();
  std::vector<Expr> replacements;
  std::vector<ir::Label> kept;
  Expr own;
  for (std::size_t l = 0; l < out.size() + compute_.reduce.size(); ++l) {
    const bool counts = std::ranges::find(position->labels, l) != position->labels.end();
    const auto number = static_cast<std::int32_t>(l < out.size() ? kept.size() : l - out.size() + kept.size());
    replacements.push_back(ir::index_ref(number));
    if (l >= out.size()) continue;
    if (l == outermost) own = replacements.back();
    if (!counts || l == outermost) kept.push_back(compute_.out[l]);
    if (l == outermost) kept.back().end = position->count;
  }
  for (std::size_t k = 0; k < position->labels.size(); ++k) {
    const std::size_t label = position->labels[k];
    Expr at = own;
    if (k > 0) at = ir::binary(ir::BinaryOp::kDiv, at, expr_of(position->strides[k]));
    if (label != outermost) at = ir::binary(ir::BinaryOp::kRem, at, expr_of(out[label].end));
    replacements[label] = at;
  }
  for (Expr& body : compute_.bodies) body = ir::with_labels(body, replacements);
  compute_.guard = ir::with_labels(compute_.guard, replacements);
  for (std::size_t k = 0; k < compute_.left.size(); ++k) {
    if (k != d) compute_.left[k] = ir::with_labels(compute_.left[k], replacements);
  }
  // Two ranges that end below 0 have no point, but the product of their lengths is positive.
  for (std::size_t k = 0; k + 1 < position->labels.size(); ++k) {
    const Extent& end = out[position->labels[k]].end;
    if (is_size(end)) continue;
    const Expr some = ir::binary(ir::BinaryOp::kLt, ir::constant_i64(0), expr_of(end));
    compute_.guard = ir::conjunction_of(some, compute_.guard);
  }
  compute_.left[d] = position->first == Extent(0) ? own : ir::binary(ir::BinaryOp::kAdd, own, expr_of(position->first));
  compute_.out = std::move(kept);
  return true;
}

void ComputeLowering::flat_left() {
  for (std::size_t d = 0; d < compute_.left.size(); ++d) flat_left(d);
}

}  // namespace tdsl::codegen
