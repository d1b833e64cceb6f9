#include <fmt/format.h>

#include <algorithm>

#include "codegen/loops/kernel_nest_builder.h"
#include "codegen/lower/guard_bounds.h"
#include "codegen/relations/describe.h"
#include "ir/graph/check.h"

namespace tdsl::codegen {

using nest::Named;
using nest::with_parts;
using Role = nest::Variable::Role;

KernelNestBuilder::KernelNestBuilder(const KernelNestRequest& request)
    : request_(request),
      program_(request.program),
      op_(*request.step.op),
      kernel_(*request.step.kernel),
      compute_(kernel_.compute) {
  result_.nest.name = request.name;
  result_.nest.place = request.place;
  add_captures();
  add_indices();
  add_operands();
  add_result();
}

KernelNest KernelNestBuilder::run() {
  if (kernel_.walk) {
    result_.nest.body = stored();
  } else if (op_.sparsity.compresses()) {
    order_.labels = {0, 1};
    result_.nest.body = loops(order_.labels, 0, false, [&] { return point(); });
  } else if (const std::optional<Blocking> blocks = blocking(op_, kernel_)) {
    result_.nest.body = blocked(*blocks);
  } else {
    order_ = loop_order(op_, kernel_);
    result_.nest.body =
        order_.into_scalar ? scalar_reduction() : loops(order_.labels, 0, true, [&] { return point(); });
  }
  result_.nest.fresh = first_values();
  // Without output labels, no loop is empty if the tile is not written.
  result_.nest.only_hit = writes() && compute_.out.empty();
  return std::move(result_);
}

void KernelNestBuilder::add_captures() {
  std::set<ValueId> values;
  // Sizes of tensors may contain integers that are not host values when these tensors are created.
  const auto add_all = [&](const Extent& e) {
    std::ranges::for_each(e.values(), [&](ValueId v) { values.insert(v); });
  };
  for_each_use(program_, {{}, request_.step}, [&](ValueId v) {
    if (program_.is_host(v)) values.insert(v);
  });
  for (const SymbolicAccess& read : op_.reads) std::ranges::for_each(program_.type(read.tensor).shape, add_all);
  std::ranges::for_each(program_.type(request_.step.target).shape, add_all);
  for (const SymbolicLabel& l : op_.labels) add_all(l.range.lo), add_all(l.range.hi);
  for (const auto& [node, extents] : kernel_.checked)
    std::ranges::for_each(extents, [&](const std::optional<Extent>& e) { add_all(e.value_or(Extent())); });
  for (const std::optional<Extent>& e : kernel_.scattered) add_all(e.value_or(Extent()));
  for (const ValueId v : values) {
    nest::Variable capture{Role::kCapture,
                           program_.is_host(v) ? request_.value_name(v) : title_of(program_, v),
                           {program_.type(v).scalar, {}, {}}};
    capture.size = program_.type(v).scalar == ir::Scalar::kI64 && is_size(v);
    if (const auto turn = kernel_.turns.find(v); turn != kernel_.turns.end() && turn->second) {
      capture.turn = *turn->second > 0 ? nest::Variable::Turn::kFew : nest::Variable::Turn::kAllButFew;
    }
    captures_[v] = added(std::move(capture));
    result_.captured.push_back(v);
  }
}

bool KernelNestBuilder::is_size(ValueId v) const {
  const auto is_dimension = [&](ValueId tensor) {
    return std::ranges::find(program_.type(tensor).shape, Extent::of(v)) != program_.type(tensor).shape.end();
  };
  const auto ends = [&](const SymbolicLabel& l) { return l.range.lo == Extent::of(v) || l.range.hi == Extent::of(v); };
  return kernel_.turns.contains(v) || is_dimension(request_.step.target) || std::ranges::any_of(op_.labels, ends) ||
         std::ranges::any_of(op_.reads, [&](const SymbolicAccess& read) { return is_dimension(read.tensor); });
}

void KernelNestBuilder::add_indices() {
  for (const SymbolicLabel& l : op_.labels) {
    labels_.push_back(l.name);
    result_.nest.indices.push_back({l.name, true, of_nest(l.range.lo), of_nest(l.range.hi)});
  }
  // Subscripts of scatters are computed.
  for (std::size_t d = 0; d < kernel_.scattered.size(); ++d) {
    if (!is_scattered(d)) continue;
    targets_[d] = static_cast<int>(result_.nest.indices.size());
    result_.nest.indices.push_back({fmt::format("at{}", d), false, {}, {}});
  }
}

void KernelNestBuilder::add_operands() {
  for (std::size_t k = 0; k < op_.reads.size(); ++k)
    operands_[static_cast<int>(k)] = added(operand_variable(static_cast<int>(k)));
}

nest::Variable KernelNestBuilder::operand_variable(int number) const {
  const ValueId tensor = op_.reads[static_cast<std::size_t>(number)].tensor;
  const ir::Type& type = program_.type(tensor);
  nest::Variable variable{
      Role::kOperand, title_of(program_, tensor), {type.scalar, of_nest(type.shape), type.sparse}, number};
  variable.compressed = program_.info(tensor).compressed;
  return variable;
}

void KernelNestBuilder::add_result() {
  nest::Variable result{Role::kResult,
                        title_of(program_, request_.step.target),
                        {kernel_.type, of_nest(program_.type(request_.step.target).shape), {}}};
  result.continued = op_.has_base();
  result.compressed = program_.info(request_.step.target).compressed;
  if (!writes()) {
    for (const ir::Label& l : compute_.out) result.origin.push_back(of_nest(l.begin));
  }
  target_ = added(std::move(result));
}

Extent KernelNestBuilder::of_nest(const Extent& e) const {
  return e.substitute([this](ValueId v) -> std::optional<Extent> { return Extent::of(captures_.at(v)); });
}

std::vector<Extent> KernelNestBuilder::of_nest(std::vector<Extent> shape) const {
  for (Extent& e : shape) e = of_nest(e);
  return shape;
}

Expr KernelNestBuilder::of_nest(const Expr& e) {
  return with_parts(
      e,
      [this](const Expr& part) {
        const auto* r = std::get_if<ir::Read>(&part->op);
        return r == nullptr ? Expr() : read(part, *r);
      },
      true);
}

Expr KernelNestBuilder::read(const Expr& e, const ir::Read& r) {
  if (program_.is_host(r.tensor)) return ir::read(e->type, captures_.at(r.tensor), {}, e->range);
  if (const auto outer = outer_value_.find(e.id()); outer != outer_value_.end()) return local_read(outer->second);
  const auto gather = kernel_.gathers.find(e.id());
  std::vector<Expr> subscripts;
  for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
    const bool found = gather != kernel_.gathers.end() && gather->second[d] >= 0;
    subscripts.push_back(found ? ir::index_ref(gather->second[d]) : of_nest(r.subscripts[d]));
  }
  return ir::read(e->type, operand(e, r), std::move(subscripts), e->range);
}

ValueId KernelNestBuilder::operand(const Expr& e, const ir::Read& r) {
  const int number = kernel_.operand.at(e.id());
  const auto checked = kernel_.checked.find(e.id());
  if (checked == kernel_.checked.end()) return operands_.at(number);
  ValueId& known = checked_[e.id()];
  if (known.valid()) return known;
  nest::Variable variable = operand_variable(number);
  for (std::size_t d = 0; d < checked->second.size(); ++d) {
    if (checked->second[d])
      variable.bounds.push_back(
          {static_cast<int>(d), of_nest(*checked->second[d]), subscript_text(r.subscripts[d], r.tensor), e->range});
  }
  return known = added(std::move(variable));
}

std::string KernelNestBuilder::subscript_text(const Expr& e, ValueId tensor) const {
  return describe(program_, e, labels_) + "` of `" + name_of(program_, tensor);
}

Named KernelNestBuilder::named(Expr value) {
  return nest::named(result_.nest, std::move(value), [this](const ir::Select& s) { return takes_both(s); });
}

bool KernelNestBuilder::takes_both(const ir::Select& s) const {
  return kernel_.checked.empty() && kernel_.gathers.empty() && nest::takes_both(result_.nest, {}, s);
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

KernelNest build_nest(const KernelNestRequest& request) { return KernelNestBuilder(request).run(); }

}  // namespace tdsl::codegen
