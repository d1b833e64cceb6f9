#include <algorithm>
#include <iterator>

#include "codegen/describe.h"
#include "codegen/kernel_nest_builder.h"
#include "ir/check.h"

namespace tdsl::codegen {

// Note [Kernels over stored elements]
// The loops are those over the rows of the walked operand, over the elements of each, and then over what is dense: `for i over rows of %1 { for j
// over row of %1 { for f … } }`. Elements of the result that are not visited have their values before: a fill, or in compressed results nothing.
// A reduction runs into a local from the innermost label of the result on, and where that is the last loop, into elements.

using Role = nest::Variable::Role;

void KernelNestBuilder::order_stored() {
  const ir::StoredWalk& walk = *kernel_.walk;
  order_ = loop_order(op_, kernel_);
  order_.labels = {walk.row, walk.column};
  std::vector<int> out, reduce;
  for (int l = 0; l < static_cast<int>(op_.labels.size()); ++l) {
    if (l != walk.row && l != walk.column) (is_out(l) ? out : reduce).push_back(l);
  }
  // Along a row of the result, where that is a row of what is read, too.
  const bool row_last = !out.empty() && order_.in_order.contains(out.back());
  const int last = row_last ? out.back() : -1;
  if (row_last) out.pop_back();
  for (const std::vector<int>& part : {out, reduce}) order_.labels.insert(order_.labels.end(), part.begin(), part.end());
  if (row_last) order_.labels.push_back(last);
  total_at_ = order_.labels.size();
  while (total_at_ > 0 && !is_out(order_.labels[total_at_ - 1])) --total_at_;
}

nest::Body KernelNestBuilder::stored() {
  order_stored();
  add_row_values();
  return stored_from(0);
}

nest::Body KernelNestBuilder::stored_from(std::size_t depth) {
  if (depth == total_at_ && depth < order_.labels.size()) return stored_total(depth);
  return stored_loop(depth, std::nullopt);
}

/// The loop number `depth` and what is in it; `total`: what a reduction runs into.
nest::Body KernelNestBuilder::stored_loop(std::size_t depth, std::optional<ValueId> total) {
  const std::vector<int>& labels = order_.labels;
  if (depth >= 2) {
    const std::vector<int> dense(labels.begin() + static_cast<std::ptrdiff_t>(depth), labels.begin() + static_cast<std::ptrdiff_t>(total ? labels.size() : total_at_));
    if (total) return dense.empty() ? guarded(accumulate({*total, {}})) : into_total(*total, dense);
    return loops(dense, 0, total_at_ == labels.size(), [&] { return total_at_ == labels.size() ? stored_point() : stored_total(total_at_); });
  }
  const int label = labels[depth];
  open_.insert(label);
  Body inner = total ? stored_loop(depth + 1, total) : stored_from(depth + 1);
  open_.erase(label);
  const ValueId walked = walked_operand();
  if (depth == 1) return {loop(label, nest::StoredRow{walked, ahead()}, nest::Order::kSerial, std::move(inner))};
  Body row;
  for (const nest::Let& value : row_values_) row.push_back(statement(value));
  std::ranges::move(inner, std::back_inserter(row));
  return {loop(label, nest::StoredRows{walked}, nest::Order::kSerial, std::move(row))};
}

/// A reduction along all further loops.
nest::Body KernelNestBuilder::stored_total(std::size_t depth) {
  const ValueId total = local("total", kernel_.type);
  // Where only labels that are never cut are reduced, elements are computed at once.
  const bool at_once = is_out(kernel_.walk->row);
  Body result = {at_once ? statement(nest::Var{total, identity()}) : statement(nest::Start{total, element(), {}})};
  std::ranges::move(stored_loop(depth, total), std::back_inserter(result));
  result.push_back(statement(nest::Store{element(), local_read(total)}));
  return result;
}

nest::Body KernelNestBuilder::stored_point() {
  if (compute_.monoid) return guarded(accumulate(element()));
  auto [lets, value] = named(of_nest(compute_.bodies.front()));
  Body result = statements_of(std::move(lets));
  result.push_back(statement(nest::Store{element(), std::move(value)}));
  return guarded(std::move(result));
}

ValueId KernelNestBuilder::walked_operand() const {
  for (std::size_t k = 0; k < op_.reads.size(); ++k) {
    if (op_.reads[k].tensor == kernel_.walk->tensor) return operands_.at(static_cast<int>(k));
  }
  TDSL_CHECK(false, "what is walked is read");
  return {};
}

namespace {

bool is_label(const Expr& e, int label) {
  const auto* i = std::get_if<ir::IndexRef>(&e->op);
  return i != nullptr && i->label == label;
}

}  // namespace

/// Elements of vectors along the rows are read once per row.
void KernelNestBuilder::add_row_values() {
  for_each_plain_read([this](const ir::ExprNode& node, const ir::Read& r) {
    if (r.subscripts.size() != 1 || !is_label(r.subscripts[0], kernel_.walk->row)) return;
    const int number = kernel_.operand.at(&node);
    const auto known = row_value_of_operand_.find(number);
    if (known != row_value_of_operand_.end()) {
      row_value_[&node] = known->second;
      return;
    }
    const ValueId value = local(name_of(program_, r.tensor) + "_" + labels_[static_cast<std::size_t>(kernel_.walk->row)], node.type);
    row_values_.push_back({value, ir::read(node.type, operands_.at(number), {ir::index_ref(kernel_.walk->row)}, node.range)});
    row_value_of_operand_[number] = row_value_[&node] = value;
  });
}

/// What lies where elements of a row say is fetched before it is needed.
std::vector<nest::Place> KernelNestBuilder::ahead() {
  constexpr std::size_t kMost = 2;
  std::vector<Place> places;
  std::set<int> known;
  for_each_plain_read([&](const ir::ExprNode& node, const ir::Read& r) {
    const int number = kernel_.operand.at(&node);
    if (r.subscripts.size() != 1 || !is_label(r.subscripts[0], kernel_.walk->column) || !known.insert(number).second) return;
    places.push_back({operands_.at(number), {ir::index_ref(kernel_.walk->column)}});
  });
  const bool scatters = compute_.out.size() == 1 && is_out(kernel_.walk->column);
  if (scatters) places.push_back(element());
  if (places.size() > kMost) places.clear();
  return places;
}

/// Reads of dense operands that are inside wherever the kernel runs.
void KernelNestBuilder::for_each_plain_read(const std::function<void(const ir::ExprNode&, const ir::Read&)>& f) const {
  for (const Expr& e : {compute_.bodies.front(), compute_.guard}) {
    if (!e) continue;
    ir::for_each_node(e, [&](const ir::ExprNode& n) {
      const auto* r = std::get_if<ir::Read>(&n.op);
      if (r == nullptr || program_.is_host(r->tensor) || program_.info(r->tensor).compressed) return;
      if (!kernel_.checked.contains(&n) && !kernel_.trusted.contains(&n)) f(n, *r);
    });
  }
}

}  // namespace tdsl::codegen
