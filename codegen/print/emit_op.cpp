#include "codegen/print/emit_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "codegen/print/names.h"
#include "ir/graph/affine.h"
#include "runtime/plan/op_fields.h"

namespace tdsl::codegen {

namespace {

using TensorName = std::function<std::string(ValueId)>;

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

/// The combining operator, `Combine::kSum`, or one per piece: `{{Combine::kSum, d * d}, {Combine::kMax, 1}}`.
std::string meeting_text(const RecordedOp& op, ExprEmitter& expr) {
  if (op.pieces.empty()) return "Combine::" + combine_text(op.combine);
  std::string list;
  for (const plan::BasicPiece<Extent>& p : op.pieces)
    list += fmt::format("{}{{Combine::{}, {}}}", list.empty() ? "" : ", ", combine_text(p.combine), expr.text(p.count));
  return "{" + list + "}";
}

std::string terms_text(const std::vector<Term>& terms, ExprEmitter& expr) {
  std::string result;
  for (const Term& t : terms)
    result += fmt::format("{}{{{}, {}}}", result.empty() ? "" : ", ", t.label, expr.text(t.coefficient));
  return result;
}

std::string dim_text(const SymbolicDim& d, ExprEmitter& expr) {
  if (d.whole) return d.walked < 0 ? "whole()" : fmt::format("walked({})", d.walked);
  const bool one = d.offset.hi - d.offset.lo == Extent(1);
  if (!(d.divisor == Extent(1))) {
    if (!one) {
      return fmt::format("plan::DimAccess{{{{{}}}, {{{}, {}}}, false, {}}}", terms_text(d.terms, expr),
                         expr.text(d.offset.lo), expr.text(d.offset.hi), expr.text(d.divisor));
    }
    return fmt::format("plan::quotient({{{}}}, {}, {})", terms_text(d.terms, expr), expr.text(d.offset.lo),
                       expr.text(d.divisor));
  }
  // The largest integer plus one wraps around to the smallest: the interval is empty, and nothing is read.
  if (d.terms.empty() && one && !d.offset.hi.constant() && !d.offset.hi.as_value())
    return fmt::format("fixed({0}, scalar::add<Index>({0}, 1))", expr.text(d.offset.lo));
  if (d.terms.empty()) return fmt::format("fixed({}, {})", expr.text(d.offset.lo), expr.text(d.offset.hi));
  const bool zero = d.offset.lo == Extent(0);
  const std::string lo = expr.text(d.offset.lo);
  if (one && d.terms.size() == 1) {
    const Term& t = d.terms.front();
    if (!(t.coefficient == Extent(1))) return fmt::format("at({}, {}, {})", t.label, lo, expr.text(t.coefficient));
    return zero ? fmt::format("at({})", t.label) : fmt::format("at({}, {})", t.label, lo);
  }
  if (one)
    return zero ? fmt::format("at({{{}}})", terms_text(d.terms, expr))
                : fmt::format("at({{{}}}, {})", terms_text(d.terms, expr), lo);
  if (d.terms.size() == 1 && d.terms.front().coefficient == Extent(1)) {
    return fmt::format("near({}, {}, {})", d.terms.front().label, lo, expr.text(d.offset.hi));
  }
  return fmt::format("plan::DimAccess{{{{{}}}, {{{}, {}}}, false}}", terms_text(d.terms, expr), lo,
                     expr.text(d.offset.hi));
}

std::string range_text(const SymbolicLabel& l, ExprEmitter& expr) {
  if (l.range.lo == Extent(0)) return expr.text(l.range.hi);
  return fmt::format("Interval{{{}, {}}}", expr.text(l.range.lo), expr.text(l.range.hi));
}

/// `stores`: `.write` defines the dimensions of the result.
std::string label_text(const RecordedOp& op, int label, bool stores, ExprEmitter& expr) {
  const SymbolicLabel& l = op.labels[static_cast<std::size_t>(label)];
  const std::string name = string_literal(l.name);
  const plan::LabelRole role = op.role_of(label);
  switch (stores && role == plan::LabelRole::kOut ? plan::LabelRole::kPlain : role) {
    case plan::LabelRole::kOut: return fmt::format(".out({}, {})", name, range_text(l, expr));
    case plan::LabelRole::kWhole: return fmt::format(".out({}, {}).uncut()", name, range_text(l, expr));
    case plan::LabelRole::kReduce: return fmt::format(".reduce({}, {})", name, range_text(l, expr));
    case plan::LabelRole::kGather: return fmt::format(".gather({}, {})", name, expr.text(l.range.hi));
    case plan::LabelRole::kPlain:
      return fmt::format(".label({}, Interval{{{}, {}}})", name, expr.text(l.range.lo), expr.text(l.range.hi));
  }
  return {};
}

std::string dims_text(const SymbolicAccess& a, ExprEmitter& expr) {
  std::string dims;
  for (const SymbolicDim& d : a.dims) dims += (dims.empty() ? "" : ", ") + dim_text(d, expr);
  return dims;
}

/// True if dimension d is subscripted by label d.
bool is_in_label_order(const SymbolicAccess& a) {
  for (std::size_t d = 0; d < a.dims.size(); ++d) {
    if (!(a.dims[d] == SymbolicDim{{{static_cast<int>(d), Extent(1)}}})) return false;
  }
  return true;
}

std::string write_text(const RecordedOp& op, ExprEmitter& expr) {
  std::string shape;
  std::string subscripts;
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    const auto& o = op.out[d];
    shape += (d == 0 ? "" : ", ") + expr.text(op.shape[d]);
    const std::string label = o.label == plan::kAnyLabel ? "plan::kAnyLabel" : fmt::format("{}", o.label);
    subscripts += fmt::format("{}{{{}, {}, {}}}", d == 0 ? "" : ", ", label, o.coefficient, expr.text(o.constant));
  }
  return fmt::format(".write({{{}}}, {{{}}})", shape, subscripts);
}

std::string tile_text(const RecordedOp& op, ExprEmitter& expr) {
  std::string edges;
  for (const Extent& e : op.tile) edges += (edges.empty() ? "" : ", ") + expr.text(e);
  return edges;
}

std::string number(double x) {
  return x == static_cast<double>(static_cast<std::int64_t>(x)) ? fmt::format("{}", static_cast<std::int64_t>(x))
                                                                : fmt::format("{}", x);
}

/// Of one point: `7`, or `7 * static_cast<double>(count)` for several steps.
std::string flops_text(const OperationStep& step, ExprEmitter& expr) {
  const std::string flops = number(step.op->flops_per_point);
  if (!step.kernel->steps) return flops;
  return fmt::format("{} * static_cast<double>({})", flops, expr.text(Extent::of(*step.kernel->steps)));
}

/// `plan::from(1, 1, -b), plan::up_to(1, 1, b)`
std::string bounds_text(const plan::Sparsity<Extent>& sparsity, ExprEmitter& expr) {
  std::string text;
  for (const SymbolicBound& b : sparsity.bounds) {
    text += fmt::format("{}plan::{}({}, {}, {})", text.empty() ? "" : ", ", b.from_below ? "from" : "up_to", b.label,
                        b.row, expr.text(b.constant));
  }
  return text;
}

/// `{&A.desc(), &B.desc()}`
std::string list_text(const std::vector<ValueId>& tensors, const TensorName& tensor_name) {
  std::string list;
  for (const ValueId v : tensors) list += fmt::format("{}&{}.desc()", list.empty() ? "" : ", ", tensor_name(v));
  return "{" + list + "}";
}

std::string sparsity_calls(const plan::Sparsity<Extent>& sparsity, ExprEmitter& expr, const TensorName& tensor_name) {
  using Result = plan::SparseResult;
  const auto one = [&](ValueId v) { return tensor_name(v) + ".desc()"; };
  const auto either = [&](const std::vector<ValueId>& tensors) {
    return tensors.size() == 1 ? one(tensors.front()) : list_text(tensors, tensor_name);
  };
  std::string calls;
  const auto call = [&](std::string_view setter, const std::string& arguments) {
    calls += fmt::format(".{}({})", setter, arguments);
  };
  for (const std::vector<ValueId>& tensors : sparsity.visits) call("visits", either(tensors));
  if (sparsity.result == Result::kLikeVisited) call("stored_like", either(sparsity.visits.front()));
  if (sparsity.result == Result::kOfPoints) call("stored_of_points", one(sparsity.visits.front().front()));
  for (const ValueId v : sparsity.within) call("stored_within", one(v));
  if (sparsity.result == Result::kElementsOf) call("stored_elements_of", list_text(sparsity.elements_of, tensor_name));
  if (sparsity.result == Result::kSelectedFrom)
    call("stored_selected_from", list_text(sparsity.elements_of, tensor_name));
  if (sparsity.result == Result::kRowsSelectedFrom)
    call("stored_rows_selected_from", list_text(sparsity.elements_of, tensor_name));
  if (sparsity.result == Result::kColumnsSelectedFrom)
    call("stored_columns_selected_from", list_text(sparsity.elements_of, tensor_name));
  if (!sparsity.bounds.empty())
    call(sparsity.compresses() ? "visits_within" : "stored_within", "{" + bounds_text(sparsity, expr) + "}");
  if (sparsity.result == Result::kGuessed) call("stored_as_guessed", "");
  if (sparsity.result == Result::kAtVisited) call("stored_at_visited", "");
  if (sparsity.result == Result::kAssembled) call("stored_assembled", "");
  return calls;
}

/// The flags that are set, as names of OpBuilder's setters.
std::vector<std::string_view> set_flags(const RecordedOp& op) {
  struct Flags : plan::FieldVisitor<Flags> {
    void flag(const char* setter, bool value) {
      if (value) names.emplace_back(setter);
    }
    std::vector<std::string_view> names;
  } flags;
  plan::visit_fields(flags, op);
  return flags.names;
}

/// `2 * n + 3`, `2 * n + 3, 2 * n` or `2 * n + 3, 0, 3`: all, those of products, and those at all points of a walk.
std::string row_flops_text(const RecordedOp& op, ExprEmitter& expr) {
  std::string text = expr.text(*op.flops_per_row);
  const bool dense = !(op.dense_flops_per_row == Extent(0));
  if (dense || !(op.product_flops_per_row == Extent(0))) text += ", " + expr.text(op.product_flops_per_row);
  if (dense) text += ", " + expr.text(op.dense_flops_per_row);
  return text;
}

/// True for dense operations, and for those over the stored elements of their first operand with a dense result.
bool visits_at_most_first_read(const RecordedOp& op) {
  const plan::Sparsity<Extent>& s = op.sparsity;
  const bool first = s.visits.empty() || s.visits == std::vector<std::vector<ValueId>>{{op.reads.front().tensor}};
  return first && s.result == plan::SparseResult::kDense && s.within.empty() && s.bounds.empty();
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

std::string builder_calls(const OperationStep& step, ExprEmitter& expr,
                          const std::function<std::string(ValueId)>& tensor_name) {
  const RecordedOp& op = *step.op;
  const bool stores = !step.kernel->compute.left.empty() || op.moves;
  std::string calls;
  for (int l = 0; l < static_cast<int>(op.labels.size()); ++l) calls += label_text(op, l, stores, expr);
  if (stores) calls += write_text(op, expr);
  if (op.has_base()) calls += fmt::format(".base({}.id())", tensor_name(op.base));
  for (const SymbolicAccess& a : op.reads) {
    const std::string dims = dims_text(a, expr);
    calls += fmt::format(".read({}.id(), {{{}}})", tensor_name(a.tensor), dims);
  }
  if (!op.pieces.empty()) {
    calls += fmt::format(".pieces({})", meeting_text(op, expr));
  } else if (op.combine != plan::Combine::kNone) {
    calls += fmt::format(".combine(Combine::{})", combine_text(op.combine));
  }
  calls += op.flops_per_row ? fmt::format(".flops_per_row({})", row_flops_text(op, expr))
                            : fmt::format(".flops({})", flops_text(step, expr));
  if (!op.tile.empty()) calls += fmt::format(".tile({{{}}})", tile_text(op, expr));
  calls += sparsity_calls(op.sparsity, expr, tensor_name);
  for (const std::string_view flag : set_flags(op)) calls += fmt::format(".{}()", flag);
  return calls;
}

std::string_view method_of(const OperationStep& step) {
  const RecordedOp& op = *step.op;
  const plan::OpClass c = op.op_class;
  if (step.kernel->packed_from) return "piece";
  if (!op.sparsity.visits.empty()) return "sparse";
  if (op.flops_per_row) return op.overwrites ? "row_map" : "rows";
  if (op.in_any_order) return "sum_of_products";
  return c == plan::OpClass::kContraction ? "contraction" : c == plan::OpClass::kReduce ? "reduce" : "map";
}

std::optional<std::string> short_arguments(const OperationStep& step, ExprEmitter& expr,
                                           const std::function<std::string(std::size_t)>& operand) {
  const RecordedOp& op = *step.op;
  const bool contraction = op.op_class == plan::OpClass::kContraction || op.in_any_order;
  const bool fused = op.flops_per_row.has_value();
  const bool reduces = contraction || op.op_class == plan::OpClass::kReduce;
  const bool sparse = !op.sparsity.visits.empty();
  const bool stores = !step.kernel->compute.left.empty();
  const bool combined = op.op_class == plan::OpClass::kReduce && op.combine != plan::Combine::kNone;
  const bool mapped = op.op_class == plan::OpClass::kMap && op.combine == plan::Combine::kNone;
  if (sparse && (fused || (!combined && !mapped))) return std::nullopt;
  if (!visits_at_most_first_read(op) || stores || op.has_base() || (!op.tile.empty() && !op.in_any_order))
    return std::nullopt;
  // The session's method for this kind of operation sets these.
  const auto implied = [](std::string_view flag) {
    return flag == "epilogue" || flag == "divisible" || flag == "overwrites";
  };
  if (!std::ranges::all_of(set_flags(op), implied)) return std::nullopt;
  const bool divisible = !reduces && !fused && !sparse && !op.reads.empty();
  if (op.divisible != divisible || (op.overwrites != divisible && !fused)) return std::nullopt;
  std::string out;
  std::string over;
  for (std::size_t k = 0; k < op.labels.size(); ++k) {
    const SymbolicLabel& l = op.labels[k];
    const plan::LabelRole role = op.role_of(static_cast<int>(k));
    const bool inside = role == plan::LabelRole::kPlain;
    const bool defines = role == plan::LabelRole::kOut || role == plan::LabelRole::kWhole;
    if ((inside && !sparse) || role == plan::LabelRole::kGather || (defines && !over.empty())) return std::nullopt;
    std::string& list = defines ? out : over;
    list += fmt::format("{}{{{}, {}{}}}", list.empty() ? "" : ", ", string_literal(l.name), range_text(l, expr),
                        inside || role == plan::LabelRole::kWhole ? ", Cut::kWhole" : "");
  }
  const auto list_reads = [&](std::size_t from, std::size_t to) {
    std::string list;
    for (std::size_t k = from; k < to; ++k) {
      const std::string tensor = operand(k);
      list += (k == from ? "" : ", ") + (is_in_label_order(op.reads[k])
                                             ? tensor
                                             : fmt::format("{{{}, {{{}}}}}", tensor, dims_text(op.reads[k], expr)));
    }
    return list;
  };
  if (step.kernel->packed_from)
    return fmt::format("{}, {}, {{{}}}", operand(0), expr.text(*step.kernel->packed_from), out);
  if (op.epilogue)
    return fmt::format("{{{}}}, {{{}}}, {{{}}}, {{{}}}", out, over, list_reads(0, 2), list_reads(2, op.reads.size()));
  const std::string reads = list_reads(0, op.reads.size());
  if (contraction)
    return fmt::format("{{{}}}, {{{}}}, {{{}}}{}", out, over, reads,
                       op.tile.empty() ? "" : ", {" + tile_text(op, expr) + "}");
  if (fused) {
    const bool parts = !(op.product_flops_per_row == Extent(0) && op.dense_flops_per_row == Extent(0));
    return fmt::format("{{{}}}, {{{}}}, {}, {{{}}}, {}{}{}", out, over, meeting_text(op, expr), reads, parts ? "{" : "",
                       row_flops_text(op, expr), parts ? "}" : "");
  }
  const std::string flops = flops_text(step, expr);
  if (reduces || sparse)
    return fmt::format("{{{}}}, {{{}}}, Combine::{}, {{{}}}, {}", out, over, combine_text(op.combine), reads, flops);
  return fmt::format("{{{}}}, {{{}}}, {}", out, reads, flops);
}

std::string subscript_check(const SubscriptStep& step, const std::string& line, ExprEmitter& expr) {
  std::string nonempty;
  std::string low;
  std::string high;
  const auto append = [](std::string& text, const std::string& part, std::string_view between) {
    text += (text.empty() ? "" : std::string(between)) + part;
  };
  for (const Term& t : step.subscript.terms) {
    const ir::Label& l = step.labels[static_cast<std::size_t>(t.label)];
    const std::string first = expr.text(l.begin * t.coefficient);
    const std::string last = expr.text((l.end - Extent(1)) * t.coefficient);
    const auto constant = t.coefficient.constant();
    append(low, !constant ? fmt::format("std::min<Index>({}, {})", first, last) : *constant > 0 ? first : last, " + ");
    append(high, !constant ? fmt::format("std::max<Index>({}, {})", first, last) : *constant > 0 ? last : first, " + ");
  }
  // If the signs are known at compile time, the sums can be simplified, too.
  if (const auto hull = ir::hull_of(step.subscript, step.labels)) {
    low = expr.text(hull->low);
    const Extent end = hull->high + Extent(1);
    // The largest integer plus one wraps around to the smallest, which the check refuses, too.
    const bool sum = !end.constant() && !end.as_value();
    high = sum ? fmt::format("scalar::add<Index>({}, 1)", expr.text(hull->high)) : expr.text(end);
  } else if (!(step.subscript.constant == Extent(0))) {
    append(low, expr.text(step.subscript.constant, 6), " + ");
    append(high, expr.text(step.subscript.constant + Extent(1), 6), " + ");
  } else {
    append(high, "1", " + ");
  }
  for (const ir::Label& l : step.labels) {
    const Extent count = l.end - l.begin;
    if (count.constant().value_or(0) > 0) continue;
    append(nonempty, fmt::format("{} < {}", expr.text(l.begin, 6), expr.text(l.end, 6)), " && ");
  }
  return fmt::format("{}session.check_subscript({}, Interval{{{}, {}}}, {}, {});",
                     nonempty.empty() ? "" : "if (" + nonempty + ") ", line, low, high, expr.text(step.extent),
                     string_literal(step.text));
}

}  // namespace tdsl::codegen
