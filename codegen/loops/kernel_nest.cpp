#include <fmt/format.h>

#include <algorithm>

#include "codegen/loops/guard_bounds.h"
#include "codegen/loops/kernel_nest_builder.h"
#include "codegen/operations/describe.h"
#include "ir/graph/computes.h"

namespace tdsl::codegen {

KernelNestBuilder::KernelNestBuilder(const NestRequest& request, const OperationStep& step)
    : ComputeNest(request), step_(step), op_(*step.op), kernel_(*step.kernel), compute_(kernel_.compute) {
  add_captures();
  add_indices();
  for (int k = 0; k < static_cast<int>(op_.reads.size()); ++k) operands_[k] = added(operand(k));
  add_result();
}

BuiltNest KernelNestBuilder::run() {
  if (ir::stored_loops(compute_) != nullptr) {
    stored();
  } else if (op_.sparsity.compresses()) {
    order_.labels = {0, 1};
    loops(order_.labels, false, [&] { point(); });
  } else if (const std::optional<Blocking> blocks = compute_.by_search ? std::nullopt : blocking(op_, kernel_)) {
    blocked(*blocks);
  } else {
    find_divisors();
    order_ = loop_order(op_, kernel_, in_order_in_tiles());
    order_.into_scalar ? scalar_reduction() : loops(order_.labels, true, [&] { point(); });
  }
  nest_.fresh = collected([&] { first_values(); });
  nest_.body = std::move(top_);
  // Without output labels, no loop is empty if the tile is not written.
  nest_.only_hit = writes() && compute_.out.empty();
  return {std::move(nest_), std::move(captured_), {}};
}

void KernelNestBuilder::add_captures() {
  std::set<ValueId> values;
  // Sizes of tensors may contain integers that are not host values when these tensors are created.
  const auto add_all = [&](const Extent& e) {
    std::ranges::for_each(e.values(), [&](ValueId v) { values.insert(v); });
  };
  for_each_use(program_, {{}, step_}, [&](ValueId v) {
    if (program_.is_host(v)) values.insert(v);
  });
  for (const SymbolicAccess& read : op_.reads) std::ranges::for_each(program_.type(read.tensor).shape, add_all);
  std::ranges::for_each(program_.type(step_.target).shape, add_all);
  for (const SymbolicLabel& l : op_.labels) add_all(l.range.lo), add_all(l.range.hi);
  for (const auto& [node, extents] : kernel_.checked)
    std::ranges::for_each(extents, [&](const std::optional<Extent>& e) { add_all(e.value_or(Extent())); });
  for (const std::optional<Extent>& e : kernel_.scattered) add_all(e.value_or(Extent()));
  for (const ValueId v : values) {
    nest::Variable& made = capture(v);
    made.size = program_.type(v).scalar == ir::Scalar::kI64 && is_size(v);
    if (const auto turn = kernel_.turns.find(v); turn != kernel_.turns.end() && turn->second)
      made.turn = *turn->second > 0 ? nest::Variable::Turn::kFew : nest::Variable::Turn::kAllButFew;
  }
}

bool KernelNestBuilder::is_size(ValueId v) const {
  const auto ends = [&](const SymbolicLabel& l) { return l.range.lo == Extent::of(v) || l.range.hi == Extent::of(v); };
  return kernel_.turns.contains(v) || is_dimension(v, step_.target) || std::ranges::any_of(op_.labels, ends) ||
         std::ranges::any_of(op_.reads, [&](const SymbolicAccess& read) { return is_dimension(v, read.tensor); });
}

void KernelNestBuilder::add_indices() {
  for (const SymbolicLabel& l : op_.labels) {
    label_names_.push_back(l.name);
    nest_.indices.push_back({l.name, true, of_nest(l.range.lo), of_nest(l.range.hi)});
  }
  // Subscripts of scatters are computed.
  for (std::size_t d = 0; d < kernel_.scattered.size(); ++d) {
    if (!is_scattered(d)) continue;
    targets_[d] = static_cast<int>(nest_.indices.size());
    nest_.indices.push_back({fmt::format("at{}", d), false, {}, {}});
  }
}

nest::Variable KernelNestBuilder::operand(int number) {
  return operand_variable(op_.reads[static_cast<std::size_t>(number)].tensor, number);
}

void KernelNestBuilder::add_result() {
  const ir::Type& type = program_.type(step_.target);
  nest::Variable result{
      Role::kResult, title_of(program_, step_.target), {kernel_.type, of_nest(type.shape), type.format}};
  result.continued = op_.has_base();
  result.assembled = type.is_compressed() && !kernel_.scattered.empty();
  if (!writes()) {
    for (const ir::Label& l : compute_.out) result.origin.push_back(of_nest(l.begin));
  }
  target_ = added(std::move(result));
}

Expr KernelNestBuilder::part(const Expr& e) {
  if (Expr tiled = in_open_tile(e)) return tiled;
  const auto* r = std::get_if<ir::Read>(&e->op);
  if (r == nullptr) return {};
  if (program_.is_host(r->tensor)) return ir::read(e->type, captures_.at(r->tensor), {}, e->range);
  if (const auto outer = outer_value_.find(e.id()); outer != outer_value_.end()) return local_read(outer->second);
  const auto gather = kernel_.gathers.find(e.id());
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < r->subscripts.size(); ++d) {
    const bool found = gather != kernel_.gathers.end() && gather->second[d] >= 0;
    subscripts.push_back(found ? ir::index_ref(gather->second[d]) : of_nest(r->subscripts[d]));
  }
  return ir::read(e->type, operand(e, *r), std::move(subscripts), e->range);
}

ValueId KernelNestBuilder::operand(const Expr& e, const ir::Read& r) {
  const int number = kernel_.operand.at(e.id());
  const auto checked = kernel_.checked.find(e.id());
  if (checked == kernel_.checked.end()) return operands_.at(number);
  if (const auto known = checked_.find(e.id()); known != checked_.end()) return known->second;
  nest::Variable variable = operand(number);
  for (std::size_t d = 0; d < checked->second.size(); ++d) {
    const std::optional<Extent>& extent = checked->second[d];
    const bool certain = extent && in_open_tile(r.subscripts[d]) && is_position(r.subscripts[d], *extent);
    if (extent && !certain) variable.bounds.push_back(bound(d, of_nest(*extent), r.subscripts[d], r.tensor, e->range));
  }
  if (variable.bounds.empty()) return operands_.at(number);
  return checked_[e.id()] = added(std::move(variable));
}

bool KernelNestBuilder::takes_both(const ir::Select& s) const {
  return kernel_.checked.empty() && kernel_.gathers.empty() && nest::takes_both(nest_, {}, s);
}

nest::Place KernelNestBuilder::element() {
  Place place{target_, {}};
  if (!writes()) {
    for (std::size_t d = 0; d < compute_.out.size(); ++d)
      place.subscripts.push_back(ir::index_ref(static_cast<std::int32_t>(d)));
    return place;
  }
  for (std::size_t d = 0; d < compute_.left.size(); ++d)
    place.subscripts.push_back(is_scattered(d) ? ir::index_ref(targets_.at(d)) : of_nest(compute_.left[d]));
  return place;
}

Expr KernelNestBuilder::guard() {
  const Expr rest = without_parts(compute_.guard, observed_);
  return rest ? of_nest(rest) : Expr();
}

BuiltNest build_nest(const NestRequest& request, const OperationStep& step) {
  return step.fused ? build_rows_nest(request, step) : KernelNestBuilder(request, step).run();
}

}  // namespace tdsl::codegen
