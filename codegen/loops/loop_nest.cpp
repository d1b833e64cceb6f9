#include <fmt/format.h>

#include <algorithm>

#include "codegen/loops/loop_nest_builder.h"
#include "codegen/operations/describe.h"

namespace tdsl::codegen {

namespace {

ir::Program types_of(const OperationProgram& program) {
  ir::Program p;
  p.values = program.values;
  return p;
}

}  // namespace

LoopNestBuilder::LoopNestBuilder(const NestRequest& request, const LoopStep& step)
    : ComputeNest(request),
      step_(step),
      values_(types_of(program_)),
      variables_(values_, *step.loop),
      bounds_(*step.loop, step.sizes, LoopBounds::Opaque::kNamed) {
  nest_.form = nest::Form::kTask;
  add_captures();
}

BuiltNest LoopNestBuilder::run() {
  count_uses();
  const ir::Node& loop = *step_.loop;
  node(loop);
  place_ = {};
  for (std::size_t k = 0; k < step_.results.size(); ++k) {
    const LoopStep::Result& r = step_.results[k];
    if (r.continues >= 0) continue;
    const ValueId result = added(
        {Role::kResult, title_of(program_, r.target), {program_.type(r.target).scalar, {}, {}}, static_cast<int>(k)});
    add(nest::Store{{result, {}}, value(loop.results[static_cast<std::size_t>(r.carried)])});
  }
  nest_.body = std::move(top_);
  return {std::move(nest_), std::move(captured_), {}};
}

/// Host values in numerical order, which determines how sizes are printed.
void LoopNestBuilder::add_captures() {
  std::set<ValueId> values;
  for (const auto& [outside, here] : step_.outer) {
    const auto size = step_.sizes.find(outside);
    const bool written_out = size != step_.sizes.end() && size->second.constant();
    if (program_.is_host(here) && !written_out) values.insert(here);
  }
  for (const ValueId v : values) static_cast<void>(captured(v));
}

ValueId LoopNestBuilder::captured(ValueId here) {
  if (!captures_.contains(here))
    capture(here).size = std::ranges::any_of(step_.reads, [&](ValueId read) { return is_dimension(here, read); });
  return captures_.at(here);
}

std::string LoopNestBuilder::name(ValueId v) const {
  const ValueId variable = variables_.variable(v);
  return program_.info(variable).name.empty() ? name_of(program_, v) : name_of(program_, variable);
}

ValueId LoopNestBuilder::variable(ValueId v) { return variables_.is_inside(v) ? variable_inside(v) : outer(v); }

ValueId LoopNestBuilder::variable_inside(ValueId v) {
  const ValueId known = variables_.variable(v);
  const auto found = inside_.find(known);
  if (found != inside_.end()) return found->second;
  const ir::Type& type = program_.type(known);
  nest::Variable made{Role::kLocal, name(v), {type.scalar, of_nest(type.shape), {}}};
  for (std::size_t k = 0; k < step_.results.size() && is_tensor(known); ++k) {
    const LoopStep::Result& r = step_.results[k];
    if (r.continues < 0 || variables_.variable(r.target) != known) continue;
    made.role = Role::kResult;
    made.number = static_cast<int>(k);
    made.continued = true;
  }
  made.resized = made.role == Role::kLocal && changes_size(known);
  return inside_[known] = added(std::move(made));
}

ValueId LoopNestBuilder::outer(ValueId v) {
  const auto found = step_.outer.find(v);
  const ValueId here = found == step_.outer.end() ? v : found->second;
  return program_.is_host(here) || found == step_.outer.end() ? captured(here) : operand(here);
}

ValueId LoopNestBuilder::operand(ValueId here) {
  const auto found = operands_.find(here);
  if (found != operands_.end()) return found->second;
  int number = -1;
  for (std::size_t k = 0; k < step_.reads.size(); ++k) {
    const bool continued = std::ranges::any_of(
        step_.results, [&](const LoopStep::Result& r) { return r.continues == static_cast<int>(k); });
    if (step_.reads[k] == here && !continued) number = static_cast<int>(k);
  }
  return operands_[here] = added(operand_variable(here, number));
}

Expr LoopNestBuilder::value(ValueId v) {
  if (const auto found = inlined_.find(v); found != inlined_.end()) return found->second;
  if (const Expr known = constant_of(v)) return known;
  return local_read(variable(v));
}

Expr LoopNestBuilder::constant_of(ValueId v) const {
  if (const auto found = constants_.find(v); found != constants_.end()) return found->second;
  const auto size = step_.sizes.find(v);
  const auto number = size == step_.sizes.end() ? std::nullopt : size->second.constant();
  return number ? ir::constant_i64(*number) : Expr();
}

Expr LoopNestBuilder::spelled(const Expr& e) const {
  return ir::rewrite(e, [this](const Expr& n) {
    const auto* r = std::get_if<ir::Read>(&n->op);
    const Expr known = r != nullptr && r->subscripts.empty() ? constant_of(r->tensor) : Expr();
    return known ? known : n;
  });
}

Expr LoopNestBuilder::part(const Expr& e) {
  if (const auto* i = std::get_if<ir::IndexRef>(&e->op))
    return ir::index_ref(labels_[static_cast<std::size_t>(i->label)], e->range);
  const auto* r = std::get_if<ir::Read>(&e->op);
  if (r == nullptr) return {};
  if (r->subscripts.empty()) return value(r->tensor);
  std::vector<Expr> subscripts;
  for (const Expr& s : r->subscripts) {
    const Expr local = neighbour(s);
    subscripts.push_back(local ? local : of_nest(s));
  }
  return ir::read(e->type, view(r->tensor, r->subscripts, e->range), std::move(subscripts), e->range);
}

Extent LoopNestBuilder::size(ValueId v) {
  const Expr known = constant_of(v);
  if (const auto* c = known ? std::get_if<ir::Constant>(&known->op) : nullptr)
    return Extent(std::get<std::int64_t>(c->value));
  return Extent::of(variable(v));
}

ValueId LoopNestBuilder::view(ValueId tensor, const std::vector<Expr>& subscripts, const ir::SourceRange& range) {
  const ValueId whole = variable(tensor);
  const std::vector<Extent>& shape = program_.type(tensor).shape;
  nest::Variable made{Role::kView, nest_.variable(whole).name, nest_.variable(whole).type};
  std::string key = fmt::format("{} {}:{}", whole.id, range.file, range.line);
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    if (bounds_.inside(subscripts[d], shape[d]) || is_checked_ahead(tensor, d, subscripts[d])) continue;
    made.bounds.push_back(bound(d, made.type.shape[d], subscripts[d], tensor, range.known() ? range : request_.place));
    key += fmt::format(" {} {}", d, made.bounds.back().what);
  }
  if (made.bounds.empty()) return whole;
  const auto found = views_.find(key);
  if (found != views_.end()) return found->second;
  made.of = whole;
  return views_[key] = added(std::move(made));
}

bool LoopNestBuilder::changes_size(ValueId v) const {
  return std::ranges::any_of(program_.type(v).shape, [this](const Extent& e) {
    const std::vector<ValueId> values = e.values();
    return std::ranges::any_of(values, [this](ValueId x) { return variables_.is_inside(x); });
  });
}

BuiltNest build_nest(const NestRequest& request, const LoopStep& step) { return LoopNestBuilder(request, step).run(); }

}  // namespace tdsl::codegen
