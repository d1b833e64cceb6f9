#include <algorithm>
#include <span>

#include "codegen/loops/guard_bounds.h"
#include "codegen/loops/kernel_nest_builder.h"
#include "codegen/operations/describe.h"
#include "ir/analysis/by_value.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/inequalities.h"

namespace tdsl::codegen {

// Note [Kernels over stored elements]
// Sparse levels come first, dense dimensions inside them: `for i over stored %1[*] { for j over stored %1[i, *] {
// for f … } }`. Result elements that are not visited keep their initial value: a fill, or nothing in compressed
// results. A reduction accumulates in a local inside the innermost label of the result; if that label is the last loop,
// it accumulates in elements. A guard that bounds the columns from both sides becomes the part of the row over which
// the loop runs: `where i == j` finds one element.

void KernelNestBuilder::order_stored() {
  const ir::SparseIteration& iteration = *compute_.iteration;
  order_ = loop_order(op_, kernel_);
  order_.labels.clear();
  for (const ir::StoredLoop& loop : iteration.loops) order_.labels.push_back(loop.label);
  std::vector<int> out, reduce;
  for (int l = 0; l < static_cast<int>(op_.labels.size()); ++l) {
    if (!iteration.has_loop(l)) (is_out(l) ? out : reduce).push_back(l);
  }
  // The loop along a row of the result is innermost if all operands are constant or contiguous along it.
  const bool row_last = !out.empty() && order_.in_order.contains(out.back());
  const int last = row_last ? out.back() : -1;
  if (row_last) out.pop_back();
  for (const std::vector<int>& part : {out, reduce})
    order_.labels.insert(order_.labels.end(), part.begin(), part.end());
  if (row_last) order_.labels.push_back(last);
  total_at_ = order_.labels.size();
  while (total_at_ > 0 && !is_out(order_.labels[total_at_ - 1])) --total_at_;
}

void KernelNestBuilder::stored() {
  order_stored();
  add_outer_values();
  stored_from(0);
}

void KernelNestBuilder::stored_from(std::size_t depth) {
  if (depth == total_at_ && depth < order_.labels.size()) return stored_total(depth);
  stored_loop(depth, std::nullopt);
}

/// Loop number `depth` with its body; `total`: the accumulator of a reduction.
void KernelNestBuilder::stored_loop(std::size_t depth, std::optional<ValueId> total) {
  if (depth >= compute_.iteration->loops.size()) return dense_loops(depth, total);
  const int label = order_.labels[depth];
  const TaskRange within = stored_part(depth);
  open_.insert(label);
  Body body = collected([&] {
    for (const nest::Let& value : outer_values_[depth]) add(value);
    total ? stored_loop(depth + 1, total) : stored_from(depth + 1);
  });
  open_.erase(label);
  const ir::StoredLoop& loop = compute_.iteration->loops[depth];
  nest::Stored over;
  for (const int number : loop.over) over.fibres.push_back(fibre(number, label));
  over.merge = loop.merge;
  over.within = within;
  if (over.fibres.size() == 1 && !within.begin) over.ahead = ahead(depth);
  if (depth == 0) over.by = by_value(body);
  add(nest::For{label, std::move(over), nest::Order::kSerial, std::move(body)});
}

/// How the loop over rows with this body runs where columns are coded. A part of a row, or named parts of a product,
/// would be computed in front of the loop over elements, or inside.
ir::ByValue KernelNestBuilder::by_value(const Body& body) const {
  using enum ir::ByValue;
  if (!program_.type(compute_.iteration->driver().tensor).is_coded()) return kNone;
  const ir::ByValue by = ir::by_value(compute_, [this](ValueId v) -> const ir::Type& { return program_.type(v); });
  for (const nest::Statement& s : body) {
    if (std::holds_alternative<nest::Let>(s.op) || std::holds_alternative<nest::Var>(s.op)) continue;
    const auto* elements = std::get_if<nest::For>(&s.op);
    const auto* over = elements == nullptr ? nullptr : std::get_if<nest::Stored>(&elements->over);
    if (over == nullptr || over->within.begin || over->within.end) return kNone;
    return by == kWeights && elements->body.size() != 1 ? kNone : by;
  }
  return kNone;
}

/// The part of a row that is left by guards on the column. A single bound costs more to find than it saves.
nest::TaskRange KernelNestBuilder::stored_part(std::size_t depth) {
  const int label = order_.labels[depth];
  const ir::StoredLoop& loop = compute_.iteration->loops[depth];
  const ir::StoredOperand& operand = compute_.iteration->operands[static_cast<std::size_t>(loop.over.front())];
  TaskRange range;
  if (!compute_.guard || loop.over.size() > 1 || operand.labels.size() != 2 || operand.labels.back() != label)
    return range;
  std::set<const ir::ExprNode*> used = observed_;
  const std::vector<GuardBound> bounds = guard_bounds(kernel_, label, open_, used);
  const auto side = [](bool begins) { return [begins](const GuardBound& b) { return b.from_below == begins; }; };
  if (std::ranges::none_of(bounds, side(true)) || std::ranges::none_of(bounds, side(false))) return range;
  observed_ = std::move(used);
  for (const GuardBound& b : bounds) narrow(range, {{}, label, range, b.from_below, of_nest(b.value), b.past, b.safe});
  return range;
}

void KernelNestBuilder::dense_loops(std::size_t depth, std::optional<ValueId> total) {
  const std::span<const int> labels = order_.labels;
  const bool outermost = total_at_ == labels.size();
  const std::span<const int> dense = total ? labels.subspan(depth) : labels.subspan(depth, total_at_ - depth);
  if (total && dense.empty()) return point_into({*total, {}});
  if (total) return where_stored(dense, [&] { into_total(*total, dense); });
  loops(dense, outermost, [&] { outermost ? point() : stored_total(total_at_); });
}

namespace {

/// True if the expression reads elements of compressed tensors only and does not depend on the labels.
bool depends_on_stored(const OperationProgram& program, const Expr& part, std::span<const int> labels) {
  bool reads = false;
  bool stored = std::ranges::none_of(labels, [&](int label) { return ir::mentions_label(part, label); });
  ir::for_each_read(part, [&](const ir::Read& r) {
    reads = true;
    stored = stored && program.type(r.tensor).is_compressed();
  });
  return reads && stored;
}

}  // namespace

/// Loops over the labels, guarded by the conjuncts on stored elements that are the same for all points of these loops.
void KernelNestBuilder::where_stored(std::span<const int> labels, const std::function<void()>& inner) {
  Expr outside;
  const std::set<const ir::ExprNode*> observed = observed_;
  if (compute_.guard) {
    for (const Expr& conjunct : ir::conjuncts(compute_.guard)) {
      if (!observed.contains(conjunct.id()) && depends_on_stored(program_, conjunct, labels) &&
          observed_.insert(conjunct.id()).second)
        outside = ir::conjunction_of(outside, conjunct);
    }
  }
  where(outside ? of_nest(outside) : Expr(), inner);
  observed_ = observed;
}

/// A reduction along all further loops.
void KernelNestBuilder::stored_total(std::size_t depth) {
  const ValueId total = local("total", kernel_.type);
  // Elements are computed at once unless a loop outside is a reduction, which may be cut.
  const auto outside = std::span(order_.labels).first(depth);
  const bool at_once = depth > 0 && std::ranges::all_of(outside, [this](int label) { return is_out(label); });
  const bool combined = !at_once && program_.type(step_.target).is_compressed();
  at_once || combined ? add(nest::Var{total, identity()}) : add(nest::Start{total, element(), {}});
  stored_loop(depth, total);
  ComputeNest::change(element(), combined ? compute_.monoid : std::nullopt, local_read(total));
}

/// The level of the operand that the label indexes.
nest::Fibre KernelNestBuilder::fibre(int number, int label) const {
  const ir::StoredOperand& operand = compute_.iteration->operands[static_cast<std::size_t>(number)];
  nest::Fibre result{stored_operand(operand), {}};
  for (const std::int32_t l : operand.labels) {
    if (l == label) break;
    result.outer.push_back(l);
  }
  return result;
}

ValueId KernelNestBuilder::stored_operand(const ir::StoredOperand& operand) const {
  ValueId found;
  for (const Expr& e : {compute_.bodies.front(), compute_.guard}) {
    if (!e) continue;
    ir::for_each_node(e, [&](const ir::ExprNode& n) {
      const auto* r = std::get_if<ir::Read>(&n.op);
      if (r != nullptr && r->tensor == operand.tensor &&
          std::ranges::equal(r->subscripts, operand.labels, ir::is_label))
        found = operands_.at(kernel_.operand.at(&n));
    });
  }
  TDSL_CHECK(found.valid(), "a compressed operand of a sparse loop is read");
  return found;
}

/// Elements of vectors along outer loops are read once per iteration.
void KernelNestBuilder::add_outer_values() {
  const std::vector<ir::StoredLoop>& walked = compute_.iteration->loops;
  outer_values_.resize(walked.size());
  for_each_plain_read([&](const ir::ExprNode& node, const ir::Read& r) {
    for (std::size_t depth = 0; depth + 1 < walked.size(); ++depth) {
      const int label = walked[depth].label;
      if (r.subscripts.size() != 1 || !ir::is_label(r.subscripts[0], label)) continue;
      const std::pair key(kernel_.operand.at(&node), label);
      const auto known = outer_value_of_operand_.find(key);
      if (known != outer_value_of_operand_.end()) {
        outer_value_[&node] = known->second;
        continue;
      }
      const ValueId value =
          local(title_of(program_, r.tensor) + "_" + label_names_[static_cast<std::size_t>(label)], node.type);
      outer_values_[depth].push_back(
          {value, ir::read(node.type, operands_.at(key.first), {ir::index_ref(label)}, node.range)});
      outer_value_of_operand_[key] = outer_value_[&node] = value;
    }
  });
}

namespace {

/// True if the subscripts are the loop's index alone, or that and an index of one of the innermost loops: every
/// iteration reads an unrelated element or row.
bool is_gathered(const std::vector<Expr>& subscripts, int label, std::span<const int> innermost) {
  if (subscripts.empty() || subscripts.size() > 2 || !ir::is_label(subscripts[0], label)) return false;
  return subscripts.size() == 1 ||
         std::ranges::any_of(innermost, [&](int inner) { return ir::is_label(subscripts[1], inner); });
}

}  // namespace

/// The elements and rows at the subscripts that a sparse loop visits, to be prefetched.
std::vector<nest::Place> KernelNestBuilder::ahead(std::size_t depth) {
  constexpr std::size_t kMost = 2;
  const int label = order_.labels[depth];
  std::vector<Place> places;
  if (depth == 0) return places;  // the driver's rows come one after the other
  for (const ir::StoredLoop& inner : compute_.iteration->loops) {
    for (const int number : inner.over) {
      const nest::Fibre located = fibre(number, inner.label);
      if (located.outer.size() == 1 && located.outer.front() == label)
        places.push_back({located.operand, {ir::index_ref(label)}});
    }
  }
  const auto innermost = std::span<const int>(order_.labels).subspan(compute_.iteration->loops.size());
  const auto gathered = [&](const std::vector<Expr>& subscripts) { return is_gathered(subscripts, label, innermost); };
  std::set<int> known;
  for_each_plain_read([&](const ir::ExprNode& node, const ir::Read& r) {
    const int number = kernel_.operand.at(&node);
    if (gathered(r.subscripts) && known.insert(number).second) places.push_back({operands_.at(number), r.subscripts});
  });
  const Place result = element();
  if (is_out(label) && !program_.type(step_.target).is_compressed() && gathered(result.subscripts))
    places.push_back(result);
  if (places.size() > kMost) places.clear();
  return places;
}

/// Reads of dense operands that are in bounds at all points of the kernel.
void KernelNestBuilder::for_each_plain_read(const std::function<void(const ir::ExprNode&, const ir::Read&)>& f) const {
  for (const Expr& e : {compute_.bodies.front(), compute_.guard}) {
    if (!e) continue;
    ir::for_each_node(e, [&](const ir::ExprNode& n) {
      const auto* r = std::get_if<ir::Read>(&n.op);
      if (r == nullptr || program_.is_host(r->tensor) || program_.type(r->tensor).is_compressed()) return;
      if (!kernel_.checked.contains(&n) && !kernel_.trusted.contains(&n)) f(n, *r);
    });
  }
}

}  // namespace tdsl::codegen
