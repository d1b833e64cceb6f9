#include <algorithm>

#include "codegen/loops/guard_bounds.h"
#include "codegen/loops/kernel_nest_builder.h"
#include "codegen/loops/masked_lines.h"
#include "ir/graph/computes.h"

namespace tdsl::codegen {

using ir::Monoid;
using plan::LabelRole;

nest::For KernelNestBuilder::enter(int label) {
  open_tile(label);
  nest::For loop{label, narrowed(label), nest::Order::kSerial, {}};
  open_.insert(label);
  return loop;
}

nest::Body KernelNestBuilder::with_range(Body body) {
  // A task without points may have no operands, not even for bounds.
  auto has_points = points([](LabelRole role) { return role == LabelRole::kReduce || role == LabelRole::kGather; });
  if (!has_points) return body;
  return Body{nest::Statement{nest::If{*std::move(has_points), std::move(body)}}};
}

bool KernelNestBuilder::vectorises(int label, const Body& body) const {
  return order_.in_order.contains(label) && nest::not_simd(nest_, label, body).empty();
}

nest::TaskRange KernelNestBuilder::narrowed(int label) {
  TaskRange range = range_in_tile(label);
  if (op_.sparsity.compresses()) return within_bounds(label);
  if (!compute_.monoid || !compute_.guard || op_.role_of(label) != LabelRole::kReduce) return range;
  for (const GuardBound& b : guard_bounds(kernel_, label, open_, observed_))
    narrow(range, {{}, label, range, b.from_below, of_nest(b.value), b.past, b.safe});
  return range;
}

nest::TaskRange KernelNestBuilder::within_bounds(int label) {
  TaskRange range;
  for (const SymbolicBound& b : op_.sparsity.bounds) {
    if (b.label == label) narrow(range, {{}, label, range, b.from_below, row_bound(b), !b.from_below, true});
  }
  observed_.insert(kernel_.bounding.begin(), kernel_.bounding.end());
  return range;
}

void KernelNestBuilder::narrow(TaskRange& range, nest::Narrow bound) {
  const std::string& name = label_names_[static_cast<std::size_t>(bound.index)];
  bound.local = local(name + (bound.begins ? "_begin" : "_end"), ir::Scalar::kI64);
  (bound.begins ? range.begin : range.end) = bound.local;
  add(std::move(bound));
}

/// The bound along the rows. A value that may be any integer is clamped so that the bound is unchanged and adding to it
/// cannot overflow.
ir::Expr KernelNestBuilder::row_bound(const SymbolicBound& bound) const {
  constexpr std::int64_t kLargest = std::int64_t{1} << 59;
  Extent sum = bound.constant;
  if (bound.row != 0) sum = sum + Extent(bound.row) * Extent::of(ir::label_value(0));
  return ir::rewrite(ir::expr_of_polynomial(sum), [&](const Expr& e) {
    const auto* r = std::get_if<ir::Read>(&e->op);
    if (r == nullptr) return e;
    const ValueId v = captures_.at(r->tensor);
    const Expr value = ir::read(ir::Scalar::kI64, v, {});
    if (nest_.variable(v).size) return value;
    return ir::binary(ir::BinaryOp::kMin, ir::binary(ir::BinaryOp::kMax, value, ir::constant_i64(-kLargest)),
                      ir::constant_i64(kLargest));
  });
}

void KernelNestBuilder::point() {
  const bool everywhere =
      !combining() && !writes() && !op_.has_base() && ir::stored_loops(compute_) == nullptr && kernel_.gathers.empty();
  const Expr rest = everywhere ? guard() : Expr();
  if (!rest) return point_into(element());
  add(nest::Store{element(), ir::select(rest, of_nest(compute_.bodies.front()), fill())});
}

void KernelNestBuilder::point_into(const Place& to) {
  const bool scatters = !kernel_.scattered.empty() && to.variable == target_;
  const auto guarded = [&] { where(guard(), [&] { located([&] { scatters ? scatter() : change(to); }); }); };
  // The last parts of a reduction may have no panels, and then no operands, not even for the guard.
  auto has_panels = points([](LabelRole role) { return role == LabelRole::kGather; });
  if (!has_panels) return guarded();
  Body body = collected(guarded);
  add(nest::If{*std::move(has_panels), std::move(body)});
}

void KernelNestBuilder::change(Place to) {
  Expr value = named(of_nest(compute_.bodies.front()));
  ComputeNest::change(std::move(to), combining(), std::move(value));
}

template <class Inner>
void KernelNestBuilder::located(const Inner& inner) {
  if (kernel_.gathers.empty()) return inner();
  nest::IsMine mine;
  for (const auto& [node, labels] : kernel_.gathers) {
    const auto& r = std::get<ir::Read>(node->op);
    for (std::size_t d = 0; d < labels.size(); ++d) {
      if (labels[d] < 0) continue;
      const Extent& extent = op_.labels[static_cast<std::size_t>(labels[d])].range.hi;
      add(nest::Check{labels[d], of_nest(r.subscripts[d]),
                      bound(d, of_nest(extent), r.subscripts[d], r.tensor, node->range)});
      mine.members.push_back({labels[d]});
    }
  }
  Body body = collected(inner);
  add(nest::If{std::move(mine), std::move(body)});
}

void KernelNestBuilder::scatter() {
  nest::IsMine mine;
  for (const auto& [d, index] : targets_) {
    const Expr& left = compute_.left[d];
    add(nest::Check{index, of_nest(left), bound(d, of_nest(*kernel_.scattered[d]), left, step_.target, left->range)});
    mine.members.push_back({index, static_cast<int>(d)});
  }
  Body body = collected([&] {
    if (!kernel_.once) return change(element());
    Expr value = named(of_nest(compute_.bodies.front()));
    add(nest::Store{element(), std::move(value)});
  });
  add(nest::If{std::move(mine), std::move(body)});
}

void KernelNestBuilder::scalar_reduction() {
  std::vector<int> out_labels;
  std::vector<int> reduce_labels;
  for (const int l : order_.labels) (op_.role_of(l) == LabelRole::kReduce ? reduce_labels : out_labels).push_back(l);
  loops(out_labels, false, [&] {
    const ValueId total = local("total", kernel_.type);
    const bool starts = !writes() && !op_.has_base();
    add(nest::Start{total, element(), starts ? identity() : Expr()});
    into_total(total, reduce_labels);
    add(nest::Store{element(), local_read(total)});
  });
}

void KernelNestBuilder::into_total(ValueId total, std::span<const int> labels) {
  accumulate(total, labels, [&] { point_into({total, {}}); });
}

bool KernelNestBuilder::line(ValueId total, std::span<const int> labels) {
  const nest::Nest before = nest_;
  const auto checked = checked_;
  bool lines = true;
  Body body = collected(
      [&] { loops(labels.first(labels.size() - 1), false, [&] { lines = line_sum(total, labels.back()); }); });
  if (lines) {
    append(std::move(body));
  } else {
    nest_ = before;
    checked_ = checked;
  }
  return lines;
}

bool KernelNestBuilder::line_sum(ValueId total, int label) {
  const Monoid::Kind kind = compute_.monoid->kind;
  TaskRange range;
  Body body = collected([&] { range = narrowed(label); });
  if (masked(total, label, range, body)) return true;
  if (!ir::is_float(kernel_.type) || !(kind == Monoid::Kind::kSum || kind == Monoid::Kind::kProd) ||
      !kernel_.gathers.empty())
    return false;
  const bool bounded = !body.empty();
  open_.insert(label);
  const Expr rest = guard();
  open_.erase(label);
  const Expr value = of_nest(compute_.bodies.front());
  nest::Named parts = rest ? nest::Named{{}, ir::select(rest, value, identity())} : in_parts(value);
  const bool stops =
      std::ranges::any_of(parts.lets, [&](const nest::Let& let) { return nest::may_stop(nest_, let.value); });
  if (stops || nest::may_stop(nest_, parts.value) || !order_.in_order.contains(label)) return false;
  body.push_back({nest::LineReduction{total, kind, label, range, std::move(parts.lets), std::move(parts.value)}});
  append(bounded ? with_range(std::move(body)) : std::move(body));
  return true;
}

bool KernelNestBuilder::masked(ValueId total, int label, const TaskRange& range, Body& body) {
  const std::optional<MaskedLine> line = masked_line(kernel_, label, without_parts(compute_.guard, observed_));
  if (!line) return false;
  const auto of_line = [&](const auto& f) {
    open_.insert(label);
    auto result = f();
    open_.erase(label);
    return result;
  };
  Expr mask = of_line([&] { return of_nest(line->mask); });
  if (nest::may_stop(nest_, mask)) return false;
  mask = with_fixed_parts(mask, label, body);
  nest::Named parts{{}, ir::identity_of({Monoid::Kind::kProd, {}, {}, {}}, kernel_.type)};
  if (line->value) parts = of_line([&] { return in_parts(of_nest(line->value)); });
  const bool bounded = !body.empty();
  body.push_back({nest::LineReduction{total,
                                      compute_.monoid->kind,
                                      label,
                                      range,
                                      std::move(parts.lets),
                                      std::move(parts.value),
                                      {},
                                      std::move(mask),
                                      line->masks}});
  append(bounded ? with_range(std::move(body)) : std::move(body));
  return true;
}

Expr KernelNestBuilder::with_fixed_parts(const Expr& mask, int label, Body& before) {
  if (ir::mentions_label(mask, label)) {
    if (std::holds_alternative<ir::Read>(mask->op)) return mask;
    std::vector<Expr> parts = ir::children(*mask);
    for (Expr& part : parts) part = with_fixed_parts(part, label, before);
    return ir::with_children(mask, parts);
  }
  const bool computed = std::holds_alternative<ir::Unary>(mask->op) || std::holds_alternative<ir::Binary>(mask->op) ||
                        std::holds_alternative<ir::Cast>(mask->op);
  if (!computed) return mask;
  for (const nest::Statement& s : before) {
    const auto* let = std::get_if<nest::Let>(&s.op);
    if (let != nullptr && ir::equal(let->value, mask)) return local_read(let->local);
  }
  const ValueId bound = local("bound", mask->type);
  before.push_back({nest::Let{bound, mask}});
  return local_read(bound);
}

void KernelNestBuilder::blocked(const Blocking& blocks) {
  loops(blocks.outer, false, [&] { add(blocked_reduction(compute_, blocks, element())); });
}

void KernelNestBuilder::first_values() {
  const auto filled = [&](Expr value) { add(nest::Fill{target_, std::move(value)}); };
  if (nest_.variable(target_).type.is_compressed()) return;
  if (ir::stored_loops(compute_) != nullptr) {
    filled(compute_.monoid ? identity() : fill());
  } else if (compute_.monoid) {
    if (!order_.into_scalar || writes() || op_.has_base()) filled(identity());
  } else if ((writes() || compute_.combine) && !op_.has_base()) {
    filled(fill());
  }
}

}  // namespace tdsl::codegen
