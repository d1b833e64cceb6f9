#include "codegen/print/emit_op.h"

#include <fmt/format.h>

#include "codegen/print/names.h"

namespace tdsl::codegen {

namespace {

std::string combine_text(plan::Combine c) {
  switch (c) {
    case plan::Combine::kNone: return "kNone";
    case plan::Combine::kSum: return "kSum";
    case plan::Combine::kProd: return "kProd";
    case plan::Combine::kMin: return "kMin";
    case plan::Combine::kMax: return "kMax";
    case plan::Combine::kAny: return "kAny";
    case plan::Combine::kAll: return "kAll";
  }
  return "kNone";
}

/// `Combine::kSum`, or how the pieces meet: `{{Combine::kSum, d * d}, {Combine::kMax, 1}}`.
std::string meeting_text(const OpTemplate& op, ExprEmitter& expr) {
  if (op.pieces.empty()) return "Combine::" + combine_text(op.combine);
  std::string list;
  for (const OpTemplate::Piece& p : op.pieces)
    list += fmt::format("{}{{Combine::{}, {}}}", list.empty() ? "" : ", ", combine_text(p.combine), expr.text(p.count));
  return "{" + list + "}";
}

std::string terms_text(const std::vector<Term>& terms, ExprEmitter& expr) {
  std::string result;
  for (const Term& t : terms)
    result += fmt::format("{}{{{}, {}}}", result.empty() ? "" : ", ", t.label, expr.text(t.coefficient));
  return result;
}

std::string dim_text(const DimTemplate& d, ExprEmitter& expr) {
  if (d.whole) return "whole()";
  const bool one = d.hi - d.lo == Extent(1);
  if (!(d.divisor == Extent(1))) {
    if (!one) {
      return fmt::format("plan::DimAccess{{{{{}}}, {{{}, {}}}, false, {}}}", terms_text(d.terms, expr), expr.text(d.lo),
                         expr.text(d.hi), expr.text(d.divisor));
    }
    return fmt::format("plan::quotient({{{}}}, {}, {})", terms_text(d.terms, expr), expr.text(d.lo),
                       expr.text(d.divisor));
  }
  // One past the largest integer is the smallest: the interval is empty, as is what is read there.
  if (d.terms.empty() && one && !d.hi.constant() && !d.hi.as_value())
    return fmt::format("fixed({0}, scalar::add<Index>({0}, 1))", expr.text(d.lo));
  if (d.terms.empty()) return fmt::format("fixed({}, {})", expr.text(d.lo), expr.text(d.hi));
  const bool zero = d.lo == Extent(0);
  const std::string lo = expr.text(d.lo);
  if (one && d.terms.size() == 1) {
    const Term& t = d.terms.front();
    if (!(t.coefficient == Extent(1))) return fmt::format("at({}, {}, {})", t.label, lo, expr.text(t.coefficient));
    return zero ? fmt::format("at({})", t.label) : fmt::format("at({}, {})", t.label, lo);
  }
  if (one)
    return zero ? fmt::format("at({{{}}})", terms_text(d.terms, expr))
                : fmt::format("at({{{}}}, {})", terms_text(d.terms, expr), lo);
  if (d.terms.size() == 1 && d.terms.front().coefficient == Extent(1)) {
    return fmt::format("near({}, {}, {})", d.terms.front().label, lo, expr.text(d.hi));
  }
  return fmt::format("plan::DimAccess{{{{{}}}, {{{}, {}}}, false}}", terms_text(d.terms, expr), lo, expr.text(d.hi));
}

std::string range_text(const LabelTemplate& l, ExprEmitter& expr) {
  if (l.begin == Extent(0)) return expr.text(l.end);
  return fmt::format("Interval{{{}, {}}}", expr.text(l.begin), expr.text(l.end));
}

std::string label_text(const LabelTemplate& l, ExprEmitter& expr) {
  switch (l.kind) {
    case LabelTemplate::Kind::kOut: return fmt::format(".out({}, {})", string_literal(l.name), range_text(l, expr));
    case LabelTemplate::Kind::kWhole:
      return fmt::format(".out({}, {}).uncut()", string_literal(l.name), range_text(l, expr));
    case LabelTemplate::Kind::kReduce:
      return fmt::format(".reduce({}, {})", string_literal(l.name), range_text(l, expr));
    case LabelTemplate::Kind::kGather: return fmt::format(".gather({}, {})", string_literal(l.name), expr.text(l.end));
    case LabelTemplate::Kind::kPlain:
      return fmt::format(".label({}, Interval{{{}, {}}})", string_literal(l.name), expr.text(l.begin),
                         expr.text(l.end));
  }
  return {};
}

std::string dims_text(const AccessTemplate& a, ExprEmitter& expr) {
  std::string dims;
  for (const DimTemplate& d : a.dims) dims += (dims.empty() ? "" : ", ") + dim_text(d, expr);
  return dims;
}

std::string write_text(const OpTemplate& op, ExprEmitter& expr) {
  std::string shape;
  std::string subscripts;
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    const OutTemplate& o = op.out[d];
    shape += (d == 0 ? "" : ", ") + expr.text(op.shape[d]);
    const std::string label = o.label == plan::kAnyLabel ? "plan::kAnyLabel" : fmt::format("{}", o.label);
    subscripts += fmt::format("{}{{{}, {}, {}}}", d == 0 ? "" : ", ", label, o.coefficient, expr.text(o.constant));
  }
  return fmt::format(".write({{{}}}, {{{}}})", shape, subscripts);
}

std::string tile_text(const OpTemplate& op, ExprEmitter& expr) {
  std::string edges;
  for (const Extent& e : op.tile) edges += (edges.empty() ? "" : ", ") + expr.text(e);
  return edges;
}

std::string number(double x) {
  return x == static_cast<double>(static_cast<std::int64_t>(x)) ? fmt::format("{}", static_cast<std::int64_t>(x))
                                                                : fmt::format("{}", x);
}

/// `plan::from(1, 1, -b), plan::up_to(1, 1, b)`
std::string bounds_text(const OpTemplate& op, ExprEmitter& expr) {
  std::string text;
  for (const OpTemplate::PointBound& b : op.bounds) {
    text += fmt::format("{}plan::{}({}, {}, {})", text.empty() ? "" : ", ", b.from_below ? "from" : "up_to", b.label,
                        b.row, expr.text(b.constant));
  }
  return text;
}

/// `2 * n + 3`, or `2 * n + 3, 2 * n`: all, and those of products.
std::string row_flops_text(const OpTemplate& op, ExprEmitter& expr) {
  const std::string all = expr.text(*op.flops_per_row);
  return op.product_flops_per_row == Extent(0) ? all : fmt::format("{}, {}", all, expr.text(op.product_flops_per_row));
}

}  // namespace

std::string op_class_text(plan::OpClass c) {
  switch (c) {
    case plan::OpClass::kReduce: return "OpClass::kReduce";
    case plan::OpClass::kContraction: return "OpClass::kContraction";
    case plan::OpClass::kSource: return "OpClass::kSource";
    default: return "OpClass::kMap";
  }
}

std::string builder_calls(const OpTemplate& op, ExprEmitter& expr,
                          const std::function<std::string(ValueId)>& tensor_name) {
  std::string calls;
  for (const LabelTemplate& l : op.labels) calls += label_text(l, expr);
  if (op.writes) calls += write_text(op, expr);
  if (op.base) calls += fmt::format(".base({}.id())", tensor_name(*op.base));
  for (const AccessTemplate& a : op.reads) {
    const std::string dims = dims_text(a, expr);
    calls += fmt::format(".read({}.id(), {{{}}})", tensor_name(a.tensor), dims);
  }
  if (!op.pieces.empty()) {
    calls += fmt::format(".pieces({})", meeting_text(op, expr));
  } else if (op.combine != plan::Combine::kNone) {
    calls += fmt::format(".combine(Combine::{})", combine_text(op.combine));
  }
  calls += op.flops_per_row ? fmt::format(".flops_per_row({})", row_flops_text(op, expr))
                            : fmt::format(".flops({})", number(op.flops_per_point));
  if (!op.tile.empty()) calls += fmt::format(".tile({{{}}})", tile_text(op, expr));
  std::string either;
  for (const ValueId v : op.visits_either)
    either += fmt::format("{}&{}.desc()", either.empty() ? "{" : ", ", tensor_name(v));
  if (!either.empty()) calls += fmt::format(".visits({}}})", either);
  for (const ValueId v : op.visits) calls += fmt::format(".visits({}.desc())", tensor_name(v));
  if (op.stored == OpTemplate::StoredResult::kLikeVisited)
    calls +=
        fmt::format(".stored_like({})", either.empty() ? tensor_name(op.visits.front()) + ".desc()" : either + "}");
  if (op.stored == OpTemplate::StoredResult::kOfPoints)
    calls += fmt::format(".stored_of_points({}.desc())", tensor_name(op.visits.front()));
  for (const ValueId v : op.stored_within) calls += fmt::format(".stored_within({}.desc())", tensor_name(v));
  std::string elements;
  for (const ValueId v : op.elements_of)
    elements += fmt::format("{}&{}.desc()", elements.empty() ? "" : ", ", tensor_name(v));
  if (!elements.empty()) calls += fmt::format(".stored_elements_of({{{}}})", elements);
  if (!op.bounds.empty())
    calls += fmt::format(".{}({{{}}})", op.compresses ? "visits_within" : "stored_within", bounds_text(op, expr));
  if (op.compresses) calls += op.fills_bounds ? ".stored_at_visited()" : ".stored_as_guessed()";
  if (op.epilogue) calls += ".epilogue()";
  if (op.divisible) calls += ".divisible()";
  if (op.overwrites) calls += ".overwrites()";
  return calls;
}

std::string_view method_of(const OpTemplate& op) {
  const plan::OpClass c = op.op_class;
  if (op.flops_per_row) return "rows";
  if (op.in_any_order) return "sum_of_products";
  return c == plan::OpClass::kContraction ? "contraction" : c == plan::OpClass::kReduce ? "reduce" : "map";
}

std::optional<std::string> short_arguments(const OpTemplate& op, ExprEmitter& expr,
                                           const std::function<std::string(std::size_t)>& operand) {
  const bool contraction = op.op_class == plan::OpClass::kContraction || op.in_any_order;
  const bool fused = op.flops_per_row.has_value();
  const bool reduces = contraction || op.op_class == plan::OpClass::kReduce;
  const bool visits = !op.visits.empty() || !op.visits_either.empty();
  const bool stores = op.compresses || !op.elements_of.empty();
  if (visits || stores || op.writes || op.base || (!op.tile.empty() && !op.in_any_order) || op.overwrites)
    return std::nullopt;
  if (!reduces && !fused && op.divisible == op.reads.empty()) return std::nullopt;
  std::string out;
  std::string over;
  for (const LabelTemplate& l : op.labels) {
    const bool whole = l.kind == LabelTemplate::Kind::kWhole;
    if (l.kind != LabelTemplate::Kind::kOut && l.kind != LabelTemplate::Kind::kReduce && !whole) return std::nullopt;
    std::string& list = l.kind == LabelTemplate::Kind::kReduce ? over : out;
    list += fmt::format("{}{{{}, {}{}}}", list.empty() ? "" : ", ", string_literal(l.name), range_text(l, expr),
                        whole ? ", Cut::kWhole" : "");
  }
  const auto list_reads = [&](std::size_t from, std::size_t to) {
    std::string list;
    for (std::size_t k = from; k < to; ++k)
      list += fmt::format("{}{{{}, {{{}}}}}", k == from ? "" : ", ", operand(k), dims_text(op.reads[k], expr));
    return list;
  };
  if (op.epilogue)
    return fmt::format("{{{}}}, {{{}}}, {{{}}}, {{{}}}", out, over, list_reads(0, 2), list_reads(2, op.reads.size()));
  const std::string reads = list_reads(0, op.reads.size());
  if (contraction)
    return fmt::format("{{{}}}, {{{}}}, {{{}}}{}", out, over, reads,
                       op.tile.empty() ? "" : ", {" + tile_text(op, expr) + "}");
  if (fused) {
    const bool products = !(op.product_flops_per_row == Extent(0));
    return fmt::format("{{{}}}, {{{}}}, {}, {{{}}}, {}{}{}", out, over, meeting_text(op, expr), reads,
                       products ? "{" : "", row_flops_text(op, expr), products ? "}" : "");
  }
  const std::string flops = number(op.flops_per_point);
  if (reduces)
    return fmt::format("{{{}}}, {{{}}}, Combine::{}, {{{}}}, {}", out, over, combine_text(op.combine), reads, flops);
  return fmt::format("{{{}}}, {{{}}}, {}", out, reads, flops);
}

}  // namespace tdsl::codegen
