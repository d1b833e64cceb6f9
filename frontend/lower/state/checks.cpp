#include <algorithm>

#include "frontend/lower/state/graph.h"

// Selects the subscript checks that stay in the expressions of a node: GraphBuilder::settled.

namespace tdsl::frontend {

namespace {

/// Smallest and largest value of a sum of index variables with nonempty ranges.
struct Hull {
  Extent least;
  Extent most;
};

Hull hull_of(const Affine& form, const std::function<const LabelInfo&(std::int32_t)>& label) {
  Hull hull{form.offset, form.offset};
  for (const auto& [id, coefficient] : form.coefficients) {
    const Extent first = Extent(coefficient) * label(id).begin;
    const Extent last = Extent(coefficient) * (label(id).end - Extent(1));
    hull.least = hull.least + (coefficient > 0 ? first : last);
    hull.most = hull.most + (coefficient > 0 ? last : first);
  }
  return hull;
}

}  // namespace

ComputeSpec GraphBuilder::settled(ComputeSpec spec) {
  const auto inside = [this](const ir::Within& w) { return is_inside(w); };
  for (Expr* part : {&spec.body, &spec.guard}) {
    if (*part) *part = ir::without_checks(*part, inside);
  }
  for (Expr& subscript : spec.left) subscript = ir::without_checks(subscript, inside);
  // In a loop, a size check would prevent the conversion to tensor algebra.
  const bool once = regions_.size() == 1;
  if (once && !spec.guard) spec.body = with_checks_in_front(spec.body, spec);
  return spec;
}

Expr GraphBuilder::with_checks_in_front(const Expr& e, const ComputeSpec& spec) {
  const auto within = ir::within_of(e);
  if (within && check_in_front(*within, spec, e->range)) return with_checks_in_front(ir::without_check(e), spec);
  // Conditional subexpressions are evaluated at some points only.
  std::vector<Expr> parts = ir::children(*e);
  const auto* b = std::get_if<ir::Binary>(&e->op);
  const bool first_only = std::holds_alternative<ir::Select>(e->op) || (b != nullptr && ir::is_logical(b->op));
  for (std::size_t k = 0; k < parts.size() && !(first_only && k > 0); ++k)
    parts[k] = with_checks_in_front(parts[k], spec);
  return ir::with_children(e, parts);
}

bool GraphBuilder::is_inside(const ir::Within& w) const {
  const auto extent = frontend::extent_of(w.extent, value_extent());
  const auto form = ir::affine_in_labels(w.subscript, value_extent());
  const bool ranges =
      form && std::ranges::all_of(form->coefficients, [this](const auto& c) { return label(c.first).resolved; });
  if (!extent || !ranges) return false;
  const Hull hull = hull_of(*form, [this](std::int32_t id) -> const LabelInfo& { return label(id); });
  const auto least = hull.least.constant();
  const auto room = (*extent - hull.most).constant();
  return least && *least >= 0 && room && *room > 0;
}

bool GraphBuilder::check_in_front(const ir::Within& w, const ComputeSpec& spec, const ir::SourceRange& place) {
  const auto extent = frontend::extent_of(w.extent, value_extent());
  const auto form = ir::affine_in_labels(w.subscript, value_extent());
  if (!extent || !form) return false;
  std::vector<Extent> sizes = {*extent, form->offset};
  Expr filled;
  for (const auto* list : {&spec.out, &spec.reduce}) {
    for (const std::int32_t id : *list) {
      const LabelInfo& l = label(id);
      const auto known = (l.end - l.begin).constant();
      // A range that depends on other index variables has fewer points than its hull.
      if (l.lower || (known && *known <= 0)) return false;
      if (known) continue;
      sizes.insert(sizes.end(), {l.begin, l.end});
      const Expr some = ir::binary(BinaryOp::kLt, expr_of(program_, l.begin), expr_of(program_, l.end));
      filled = both(filled, some);
    }
  }
  const bool at_start = std::ranges::all_of(sizes, [this](const Extent& size) {
    const std::vector<ir::ValueId> values = size.values();
    return std::ranges::all_of(values, [this](ir::ValueId v) { return ir::known_at_start(program_, v); });
  });
  if (!at_start) return false;
  std::optional<ir::ValueId> guard;
  if (filled) {
    ComputeSpec some;
    some.body = filled;
    some.type = {Scalar::kBool, {}, {}};
    some.range = place;
    guard = emit(some);
  }
  const Hull hull = hull_of(*form, [this](std::int32_t id) -> const LabelInfo& { return label(id); });
  const auto at_most = [&](const Extent& left, const Extent& right, const std::string& message) {
    const auto room = (right - left).constant();
    if (!room || *room < 0) emit_effect(ir::Check{ir::Check::Relation::kAtMost, left, right, message, guard}, place);
  };
  at_most(0, hull.least, "subscript {right} is out of bounds: computed subscripts never count from the end");
  at_most(hull.most, *extent - Extent(1),
          "subscript {left} is out of bounds: the last element of the dimension is {right}");
  return true;
}

}  // namespace tdsl::frontend
