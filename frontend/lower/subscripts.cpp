#include <algorithm>
#include <string>

#include "frontend/lower/functions/captures.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/walk.h"
#include "ir/graph/within.h"
#include "runtime/size.h"
#include "runtime/types.h"

namespace tdsl::frontend {

namespace {

/// The value of a literal `-3`: only negative literals count from the end.
std::optional<std::int64_t> negative_literal(const ast::Expr& e) {
  const auto* unary = std::get_if<ast::Unary>(&e.node);
  if (unary == nullptr || unary->op != ast::UnaryOp::kNegate) return std::nullopt;
  const auto* literal = std::get_if<ast::IntegerLiteral>(&unary->operand->node);
  if (literal == nullptr || literal->value <= 0) return std::nullopt;
  return -literal->value;
}

/// `A[i]` or `A[i, j]`: no slices.
bool are_indices(const ast::Subscript& s) {
  return std::ranges::all_of(
      s.items, [](const ast::SubscriptItem& item) { return std::holds_alternative<ast::IndexSubscript>(item.node); });
}

bool reads_elements(const Expr& e) {
  return ir::any_read(e, [](const ir::Read& read) { return !read.subscripts.empty(); });
}

/// True if the index variable is evaluated at every point.
bool is_certain(const Expr& e, std::int32_t label) {
  bool found = false;
  for_each_certain_node(e, [&](const Expr& part) {
    const auto* index = std::get_if<ir::IndexRef>(&part->op);
    found = found || (index != nullptr && index->label == label);
  });
  return found;
}

}  // namespace

bool is_newaxis(Lowerer& lowerer, const ast::SubscriptItem& item) {
  const auto* index = std::get_if<ast::IndexSubscript>(&item.node);
  const std::string* name = index == nullptr ? nullptr : bare_name(*index->value);
  return name != nullptr && *name == "newaxis" && lowerer.names.find(*name) == nullptr &&
         !lowerer.dimensions().contains(*name);
}

namespace {

/// Reports `x[None, :]`.
void require_no_none(Lowerer& lowerer, const ast::SubscriptItem& item) {
  const auto* index = std::get_if<ast::IndexSubscript>(&item.node);
  const std::string* name = index == nullptr ? nullptr : bare_name(*index->value);
  if (name != nullptr && *name == "None" && lowerer.names.find(*name) == nullptr)
    lowerer.reports.fail(DiagnosticId::kUndefinedName, item.range,
                         "`None` is not declared; a new dimension is written newaxis: x[newaxis, :]");
}

}  // namespace

std::vector<ast::SubscriptItem> subscripts_of(Lowerer& lowerer, const std::vector<ast::SubscriptItem>& items,
                                              const Tensor& base, const std::string& name, const SourceRange& range) {
  std::size_t given = 0;
  const ast::SubscriptItem* ellipsis = nullptr;
  for (const ast::SubscriptItem& item : items) {
    require_no_none(lowerer, item);
    if (std::holds_alternative<ast::EllipsisSubscript>(item.node)) {
      if (ellipsis != nullptr)
        lowerer.reports.fail(DiagnosticId::kBadArgument, item.range, "`...` stands once between brackets");
      ellipsis = &item;
    } else if (!is_newaxis(lowerer, item)) {
      ++given;
    }
  }
  if (given != base.rank() && (ellipsis == nullptr || given > base.rank()))
    lowerer.reports.fail(DiagnosticId::kRankMismatch, range,
                         name + " has " + counted(base.rank(), "dimension") + ", but " + counted(given, "subscript") +
                             (given == 1 ? " is given" : " are given") +
                             (given < base.rank() ? "; write `:` for a whole dimension" : ""));
  std::vector<ast::SubscriptItem> result;
  for (const ast::SubscriptItem& item : items) {
    if (&item != ellipsis) {
      result.push_back(item);
      continue;
    }
    for (std::size_t d = given; d < base.rank(); ++d)
      result.push_back({item.range, ast::SliceSubscript{nullptr, nullptr, nullptr}});
  }
  return result;
}

namespace {

/// True if a read that is always evaluated with the element has this subscript in a dimension of this extent, or if the
/// range of the index variable proves it in bounds.
bool is_checked(const GraphBuilder& graph, const Expr& element, const Expr& subscript, const Extent& extent) {
  if (const auto* index = std::get_if<ir::IndexRef>(&subscript->op);
      index != nullptr && stays_inside(graph.label(index->label), extent))
    return true;
  if (const auto position = frontend::extent_of(subscript, graph.value_extent())) {
    const auto first = position->constant();
    const auto room = (extent - *position).constant();
    if (first && *first >= 0 && room && *room > 0) return true;
  }
  bool found = false;
  for_each_certain_read(element, [&](const ir::ExprNode&, const ir::Read& read) {
    const std::vector<Extent>& shape = graph.program().type(read.tensor).shape;
    for (std::size_t d = 0; d < read.subscripts.size(); ++d)
      found = found || (shape[d] == extent && ir::equal(read.subscripts[d], subscript));
  });
  return found;
}

/// The element of a closed expression at these subscripts (null for slices), with checks of subscripts that no read in
/// the element checks.
Expr checked_element(const GraphBuilder& graph, Reports& reports, const Tensor& base,
                     const std::vector<Expr>& subscripts, const std::vector<ast::SubscriptItem>& items,
                     const std::string& name) {
  const Expr unchecked = element(base, subscripts);
  // A storage defines the elements outside its tensor.
  if (base.padded || stored_whole(base) != nullptr) return unchecked;
  std::vector<Expr> positions = subscripts;
  std::vector<std::size_t> conditions;
  const auto message = [&](std::size_t d) {
    const std::string what = name.empty() ? base.shape[d].what : "dimension " + std::to_string(d) + " of " + name;
    return "the subscript `" + reports.source_text(items[d].range) + "` lies outside its dimension: " + what +
           " has extent " + graph.text(base.shape[d].extent);
  };
  const auto extent = [&](std::size_t d) { return expr_of(graph.program(), base.shape[d].extent); };
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    const bool slice = !std::holds_alternative<ast::IndexSubscript>(items[d].node);
    if (slice || is_checked(graph, unchecked, subscripts[d], base.shape[d].extent)) continue;
    // Data-dependent subscripts get their own check, so that they can be gathered first; others stay sums of index
    // variables.
    if (reads_elements(subscripts[d]) && is_certain(base.body, base.labels[d])) {
      positions[d] = ir::within(subscripts[d], extent(d), message(d), items[d].range);
    } else {
      conditions.push_back(d);
    }
  }
  Expr result = element(base, positions);
  for (auto d = conditions.rbegin(); d != conditions.rend(); ++d)
    result = ir::where_within(result, subscripts[*d], extent(*d), message(*d), items[*d].range);
  return result;
}

/// Reports index notation on a parameter of any rank, `T[...]`.
void require_known_rank(Lowerer& lowerer, const ast::Subscript& s, const SourceRange& range) {
  const std::string* base = bare_name(*s.base);
  const SymbolRef parameter = base == nullptr ? nullptr : lowerer.names.find(*base);
  if (!parameter || !parameter->any_rank) return;
  const auto look = [&](const ast::Expr& part) {
    const std::string* name = bare_name(part);
    const SymbolRef symbol = name == nullptr ? nullptr : lowerer.names.find(*name);
    if (symbol && symbol->kind == Symbol::Kind::kIndex)
      lowerer.reports.fail(DiagnosticId::kRankMismatch, range,
                           "`" + *base +
                               "` has any rank, `...`, so index notation cannot subscript it; name its "
                               "dimensions, or write whole-tensor expressions",
                           {{parameter->range, "declared here"}});
  };
  for (const ast::SubscriptItem& item : s.items) {
    if (const auto* index = std::get_if<ast::IndexSubscript>(&item.node)) for_each_expr(*index->value, look);
  }
}

}  // namespace

Tensor lower_subscript(Lowerer& lowerer, const ast::Subscript& s, const SourceRange& range) {
  if (const Tensor* element = captured_element(lowerer, lowerer.names.current(), s)) return *element;
  if (const auto* inner = std::get_if<ast::Subscript>(&s.base->node); inner != nullptr && are_indices(*inner))
    lowerer.reports.fail(
        DiagnosticId::kRankMismatch, range,
        "subscripts stand in one pair of brackets: " + lowerer.reports.source_text(inner->base->range) + "[" +
            lowerer.reports.source_text(inner->items.front().range.to(inner->items.back().range)) + ", " +
            lowerer.reports.source_text(s.items.front().range.to(s.items.back().range)) + "]");
  require_known_rank(lowerer, s, range);
  const Tensor base = lower_plain(lowerer, *s.base);
  const std::string text = lowerer.reports.source_text(s.base->range);
  const std::vector<ast::SubscriptItem> items =
      subscripts_of(lowerer, s.items, base, text.empty() ? "this" : text, range);
  Tensor result;
  std::vector<Expr> subscripts;
  std::vector<ast::SubscriptItem> of_base;  // without `newaxis`
  const SourceRange* index_place = nullptr;
  for (const ast::SubscriptItem& item : items) {
    if (is_newaxis(lowerer, item)) {
      result.labels.push_back(lowerer.graph.new_label());
      result.shape.push_back({1, "a new dimension", item.range});
      continue;
    }
    const Dim& dim = base.shape[of_base.size()];
    of_base.push_back(item);
    if (const auto* index = std::get_if<ast::IndexSubscript>(&item.node)) {
      subscripts.push_back(subscript_expr(lowerer, *index->value, dim, base.padded));
      if (!labels_of(subscripts.back()).empty()) index_place = &item.range;
      continue;
    }
    const SlicePart part = slice_part(lowerer, std::get<ast::SliceSubscript>(item.node), dim, item.range);
    if (!labels_of(part.start).empty()) index_place = &item.range;
    result.labels.push_back(lowerer.graph.new_label());
    result.shape.push_back({part.extent, "the slice of " + dim.what, item.range});
    subscripts.push_back(position_in(lowerer.graph, part, result.labels.back()));
  }
  if (result.rank() > rt::kMaxRank)
    lowerer.reports.fail(DiagnosticId::kRankMismatch, range, "a tensor has at most 8 dimensions");
  if (result.rank() != 0 && index_place != nullptr) {
    const char* batch =
        result.rank() == 2 ? "; `@` and routines such as det take all matrices at once: put its dimension first" : "";
    lowerer.reports.fail(
        DiagnosticId::kSliceInIndex, *index_place,
        std::string("an index variable cannot stand beside a slice; subscript every dimension with an index") + batch);
  }
  for (std::size_t d = 0; d < result.rank() && !lowerer.reports.source_text(range).empty(); ++d)
    result.shape[d].what = dimension_text(d, result.rank(), lowerer.reports.source_text(range));
  result.body = checked_element(lowerer.graph, lowerer.reports, base, subscripts, of_base, text);
  // The location of this use, for messages about bounds.
  if (const auto* read = std::get_if<ir::Read>(&result.body->op)) {
    result.body = ir::read(result.body->type, read->tensor, read->subscripts, range);
  }
  result.weak = base.weak;
  if (stored_whole(base) != nullptr)
    result.body = inside_of_storage(lowerer.graph, result.body, of_base, subscripts, base);
  return result;
}

Expr subscript_expr(Lowerer& lowerer, const ast::Expr& e, const Dim& dim, bool padded) {
  // Under `pad` a negative literal is a place before the first element.
  if (const auto from_end = padded ? std::nullopt : negative_literal(e)) {
    const Extent position = dim.extent + Extent(*from_end);
    if (const auto constant = position.constant(); constant && *constant < 0) {
      lowerer.reports.fail(DiagnosticId::kOutOfBounds, e.range,
                           std::to_string(*from_end) + " is before the first element: " + dim.what + " is " +
                               lowerer.graph.text(dim.extent));
    }
    return expr_of(lowerer.graph.program(), position);
  }
  const std::string* name = bare_name(e);
  Tensor t;
  if (name != nullptr) {
    t = lower_name(lowerer, *name, e.range, true);
    const SymbolRef symbol = lowerer.names.find(*name);
    if (symbol && symbol->kind == Symbol::Kind::kIndex) {
      LabelInfo& label = lowerer.graph.label(symbol->label);
      // A range may go beyond what `pad` surrounds.
      const auto beyond = padded && label.written_end ? (*label.written_end - dim.extent).constant() : std::nullopt;
      if (beyond.value_or(0) <= 0) label.bare_uses.push_back({dim, e.range});
    }
  } else {
    t = lower(lowerer, e);
  }
  if (t.rank() != 0) {
    const bool is_mask = t.scalar() == Scalar::kBool;
    lowerer.reports.fail(DiagnosticId::kNotScalar, e.range,
                         "a subscript is an integer scalar, but this is " + lowerer.graph.text(t) +
                             (is_mask ? "; filter(x, c) has the part, where(c, x, 0.0) keeps the size, sum[i where "
                                        "c[i]](x[i]) reduces the part"
                                      : "; to gather write let G[i] = A[p[i]]"));
  }
  if (!ir::is_integer(t.scalar())) {
    lowerer.reports.fail(
        DiagnosticId::kTypeMismatch, e.range,
        "a subscript is an integer, but this is " + std::string(ir::name_of(t.scalar())) + "; write i64(…)");
  }
  const Expr value = ir::cast(Scalar::kI64, t.body, e.range);
  const auto position =
      labels_of(value).empty() ? frontend::extent_of(value, lowerer.graph.value_extent()) : std::nullopt;
  // Under a condition it may never be evaluated.
  if (!position || padded || lowerer.guards.any()) return value;
  const auto beyond = (*position - dim.extent).constant();
  const auto below = position->constant();
  if ((beyond && *beyond >= 0) || (below && *below < 0)) {
    lowerer.reports.fail(DiagnosticId::kOutOfBounds, e.range,
                         "subscript " + lowerer.graph.text(*position) + " is out of bounds: " + dim.what + " is " +
                             lowerer.graph.text(dim.extent) +
                             (below && *below < 0 ? "; computed subscripts never count from the end" : ""),
                         {{dim.range, dim.what + " is " + lowerer.graph.text(dim.extent)}});
  }
  return value;
}

namespace {

Extent slice_step(Lowerer& lowerer, const ast::Expr& e) {
  const Expr written = integer_scalar(lowerer, e, "a slice's step");
  const std::string message = "a slice's step is positive; with a minus in front, A[::-1], it counts down";
  if (const auto known = known_integer(lowerer.graph, written)) {
    if (*known <= 0) lowerer.reports.fail(DiagnosticId::kOutOfBounds, e.range, message);
    return std::min(*known, rt::kMostTensorBytes);
  }
  if (!labels_of(written).empty())
    lowerer.reports.fail(DiagnosticId::kSliceInIndex, e.range,
                         "a slice's step cannot depend on an index variable; subscript the dimension with an index");
  const Extent step = lowerer.graph.extent_of(written, "step");
  lowerer.shapes.check({ir::Check::Relation::kAtMost, 1, step, message + ": the step is {right}", {}}, e.range);
  lowerer.shapes.check({ir::Check::Relation::kAtMost,
                        step,
                        rt::kMostTensorBytes,
                        "a slice's step is at most 2^53: the step is {left}",
                        {}},
                       e.range);
  // Under a false condition the slice still needs a size.
  return lowerer.guards.empty()
             ? step
             : lowerer.graph.extent_of(ir::binary(BinaryOp::kMax, written, ir::constant_i64(1)), "step");
}

void check_slice(Lowerer& lowerer, const SlicePart& part, const Extent& stop, const Dim& dim,
                 const SourceRange& range) {
  const Extent start = lowerer.graph.extent_of(part.start, "start");
  const std::string written = lowerer.reports.source_text(range);
  const std::string slice =
      "slice " + (written.empty() ? lowerer.graph.text(start) + ":" + lowerer.graph.text(stop) : written);
  const std::string size = dim.extent.constant() ? dim.what : dim.what + " (" + lowerer.graph.text(dim.extent) + ")";
  // Requires left <= right; `message` has placeholders `{left}` and `{right}`. Reports at once if both are constant.
  const auto require = [&](const Extent& left, const Extent& right, const std::string& message) {
    const auto difference = (right - left).constant();
    if (difference && *difference >= 0) return;
    if (!difference || lowerer.guards.any()) {
      lowerer.shapes.check({ir::Check::Relation::kAtMost, left, right, slice + " " + message, {}}, range);
      return;
    }
    std::string text = slice + " " + message;
    for (const auto& [place, extent] : {std::pair(std::string("{left}"), left), {std::string("{right}"), right}}) {
      const std::size_t at = text.find(place);
      if (at != std::string::npos) text.replace(at, place.size(), lowerer.graph.text(extent));
    }
    lowerer.reports.fail(DiagnosticId::kOutOfBounds, range, text + "; bounds are never clamped",
                         {{dim.range, dim.what + " is " + lowerer.graph.text(dim.extent)}});
  };
  // A whole dimension from 0 cannot fail, and extents are nonnegative.
  if (start == Extent(0) && stop == dim.extent) return;
  if (!(start == dim.extent)) require(0, start, "starts at {right}, before the first element");
  require(start, stop, "starts at {left}, but ends at {right}");
  require(stop, dim.extent, "ends at {left}, beyond the last element: " + size + " is {right}");
}

}  // namespace

namespace {

/// The step of a slice that counts down, `2` of `-2`, else null.
const ast::Expr* step_down(const ast::SliceSubscript& s) {
  const auto* unary = s.step == nullptr ? nullptr : std::get_if<ast::Unary>(&s.step->node);
  return unary != nullptr && unary->op == ast::UnaryOp::kNegate ? unary->operand.get() : nullptr;
}

/// Requires -1 <= stop <= start < the extent.
void check_descending_slice(Lowerer& lowerer, const Extent& start, const Extent& stop, const Dim& dim,
                            const SourceRange& range) {
  const std::string written = lowerer.reports.source_text(range);
  const std::string slice = "slice " + (written.empty() ? lowerer.graph.text(start) + "::-1" : written);
  const auto require = [&](const Extent& left, const Extent& right, const std::string& message) {
    const auto difference = (right - left).constant();
    if (difference && *difference >= 0) return;
    if (!difference || lowerer.guards.any()) {
      lowerer.shapes.check({ir::Check::Relation::kAtMost, left, right, slice + " " + message, {}}, range);
      return;
    }
    lowerer.reports.fail(DiagnosticId::kOutOfBounds, range, slice + " " + message + "; bounds are never clamped",
                         {{dim.range, dim.what + " is " + lowerer.graph.text(dim.extent)}});
  };
  const Extent last = dim.extent - Extent(1);
  if (start == last && stop == Extent(-1)) return;
  require(start, last, "starts beyond the last element: " + dim.what + " is " + lowerer.graph.text(dim.extent));
  require(stop, start, "counts down, but starts below its end");
  require(Extent(-1), stop, "ends before the place in front of the first element");
}

}  // namespace

SlicePart slice_part(Lowerer& lowerer, const ast::SliceSubscript& s, const Dim& dim, const SourceRange& range) {
  SlicePart part;
  const auto bound = [&](const ast::ExprPtr& e, const Extent& otherwise) -> Expr {
    if (!e) return expr_of(lowerer.graph.program(), otherwise);
    if (const auto from_end = negative_literal(*e)) {
      return expr_of(lowerer.graph.program(), dim.extent + Extent(*from_end));
    }
    return integer_scalar(lowerer, *e, "a slice's bound");
  };
  const ast::Expr* down = step_down(s);
  part.start = bound(s.start, down != nullptr ? dim.extent - Extent(1) : Extent(0));
  const Expr stop = bound(s.stop, down != nullptr ? Extent(-1) : dim.extent);
  if (s.step) part.step = slice_step(lowerer, down != nullptr ? *down : *s.step);
  for (const Expr& e : {part.start, stop}) {
    if (!labels_of(e).empty()) {
      lowerer.reports.fail(
          DiagnosticId::kSliceInIndex, range,
          "a slice's bounds cannot depend on an index variable; subscript the dimension with an index");
    }
  }
  const Extent first = lowerer.graph.extent_of(part.start, "start");
  const Extent last = lowerer.graph.extent_of(stop, "stop");
  part.start = expr_of(lowerer.graph.program(), first);
  part.down = down != nullptr;
  part.length = part.down ? first - last : last - first;
  part.extent = Extent::quotient(part.length + part.step - Extent(1), part.step);
  if (part.down) {
    check_descending_slice(lowerer, first, last, dim, range);
  } else {
    check_slice(lowerer, part, last, dim, range);
  }
  return part;
}

Expr position_in(const GraphBuilder& graph, const SlicePart& part, std::int32_t label) {
  const Expr steps = mul(expr_of(graph.program(), part.step), ir::index_ref(label));
  return part.down ? sub(part.start, steps) : add(steps, part.start);
}

}  // namespace tdsl::frontend
