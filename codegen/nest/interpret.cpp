#include "codegen/nest/interpret.h"

#include "codegen/nest/facts.h"
#include "codegen/nest/interpreter.h"
#include "codegen/nest/text.h"
#include "ir/analysis/combined.h"

namespace tdsl::nest {

NestInterpreter::NestInterpreter(const Nest& nest, const Inputs& inputs)
    : nest_(nest),
      stored_(inputs.stored),
      values_(values_of(nest)),
      arrays_(nest.variables.size()),
      indices_(nest.indices.size()) {
  for (std::size_t k = 0; k < nest.variables.size(); ++k) {
    const Variable& v = nest.variables[k];
    if (v.role == Role::kCapture || v.role == Role::kParameter) set_capture(static_cast<std::int32_t>(k), inputs);
    if (v.role == Role::kOperand) arrays_[k] = inputs.operands.at(v.number);
    if ((v.role == Role::kLocal && v.type.rank() == 0) || v.role == Role::kPosition)
      arrays_[k] = zeros(v.type.scalar, {});
  }
  seed_ = inputs.seed;
  for (std::size_t k = 0; k < nest.variables.size(); ++k) {
    const Variable& v = nest.variables[k];
    if (v.role == Role::kResult) {
      result_ = {static_cast<std::int32_t>(k)};
      arrays_[k] = !v.continued               ? zeros(v.type.scalar, shape(v))
                   : nest.form == Form::kTask ? inputs.bases.at(v.number)
                                              : inputs.base;
    }
    if (v.role == Role::kLocal && v.type.rank() > 0 && !v.resized) arrays_[k] = zeros(v.type.scalar, shape(v));
    if (v.role == Role::kLocal && v.resized) arrays_[k].type = v.type.scalar;
  }
  for (const Index& i : nest.indices) intervals_.push_back({extent(i.begin), extent(i.end)});
}

std::map<int, ir::Array> NestInterpreter::task() {
  body(nest_.body);
  std::map<int, ir::Array> results;
  for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
    if (nest_.variables[k].role == Role::kResult) results[nest_.variables[k].number] = std::move(arrays_[k]);
  }
  return results;
}

ir::Array NestInterpreter::run() {
  const bool gives_value = nest_.form == Form::kFunction;  // and has no result
  if (!gives_value && !nest_.variable(result_).continued) body(nest_.fresh);
  body(nest_.body);
  if (gives_value) return std::move(returned_);
  return nest_.variable(result_).place ? packed() : std::move(array(result_));
}

ir::Array NestInterpreter::packed() {
  std::map<std::int64_t, ValueId> places;
  std::int64_t count = 0;
  for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
    if (!nest_.variables[k].place) continue;
    const ValueId v{static_cast<std::int32_t>(k)};
    if (array(v).size() > 0) places[extent(*nest_.variables[k].place)] = v;
    count += array(v).size();
  }
  const ir::Scalar type = nest_.variable(result_).type.scalar;
  ir::Array all = zeros(type, {count});
  for (const auto& [first, v] : places) {
    for (std::int64_t at = 0; at < array(v).size(); ++at)
      ir::eval::set_element(all, static_cast<std::size_t>(first + at), load(v, static_cast<std::size_t>(at)));
  }
  return all;
}

ir::Array NestInterpreter::zeros(ir::Scalar type, std::vector<std::int64_t> shape) {
  ir::Array a = ir::eval::zeros(type, std::move(shape));
  a.bounds.assign(static_cast<std::size_t>(a.size()), 0.0);
  return a;
}

std::vector<std::int64_t> NestInterpreter::shape(const Variable& v) {
  std::vector<std::int64_t> result;
  for (const Extent& e : v.type.shape) result.push_back(extent(e));
  return result;
}

void NestInterpreter::set_capture(std::int32_t k, const Inputs& inputs) {
  ir::Array& a = array({k});
  a = ir::eval::scalar_array(nest_.variable({k}).type.scalar, inputs.captures.at({k}));
  a.bounds = {0.0};
}

std::int64_t NestInterpreter::extent(const Extent& e) {
  return e.evaluate([this](ValueId v) { return array(v).integers.at(0); });
}

NestInterpreter::CompiledExpr& NestInterpreter::compiled(const Expr& e) {
  std::unique_ptr<CompiledExpr>& known = compiled_[e.id()];
  if (!known) {
    kept_.push_back(e);
    known = std::make_unique<CompiledExpr>(
        values_, e, [this](ValueId v) -> const ir::Array& { return array(v); }, here());
  }
  return *known;
}

std::size_t NestInterpreter::position(const Place& p, const std::vector<std::int64_t>& rest) {
  const Variable& v = nest_.variable(p.variable);
  const std::vector<std::int64_t>& shape = array(p.variable).shape;
  const std::size_t given = p.subscripts.size();
  std::int64_t at = 0;
  for (std::size_t d = 0; d < given + rest.size(); ++d) {
    const std::int64_t subscript = d < given ? whole(p.subscripts[d]) : rest[d - given];
    const std::int64_t s = subscript - (v.origin.empty() ? 0 : extent(v.origin[d]));
    ir::eval::check_subscript(s, shape[d], d, v.name, here());
    at = at * shape[d] + s;
  }
  return static_cast<std::size_t>(at);
}

void NestInterpreter::update(ValueId v, std::size_t at, const ir::Monoid& with, const Expr& e) {
  const Slot next = value(e);
  store(v, at, combined(with, array(v).type, load(v, at), next));
}

NestInterpreter::Slot NestInterpreter::combined(const ir::Monoid& with, ir::Scalar type, const Slot& old,
                                                const Slot& next) {
  // One expression per monoid and type.
  Expr& both = combinations_[{&with, type}];
  if (!both) both = ir::combined(with, ir::argument(type, 0), ir::argument(type, 1));
  return compiled(both).combine(old, next);
}

ir::Array interpret(const Nest& nest, const Inputs& inputs) { return NestInterpreter(nest, inputs).run(); }

std::map<int, ir::Array> interpret_task(const Nest& nest, const Inputs& inputs) {
  return NestInterpreter(nest, inputs).task();
}

}  // namespace tdsl::nest
