#include "codegen/nest/verify.h"

#include <algorithm>
#include <iterator>

#include "codegen/nest/verifier.h"
#include "codegen/nest/verify_stored.h"
#include "ir/graph/check.h"
#include "ir/verify/parts.h"

namespace tdsl::nest {

using ir::Scalar;

std::vector<std::string> NestVerifier::run() {
  variables();
  for (const Statement& s : nest_.fresh) {
    if (!std::holds_alternative<Fill>(s.op)) problem("what runs first in a tile only fills");
  }
  for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
    if (nest_.variables[k].role != Role::kParameter) continue;
    defined_.insert({static_cast<std::int32_t>(k)});
    changing_.insert({static_cast<std::int32_t>(k)});
  }
  body(nest_.fresh);
  body(nest_.body);
  returns();
  return std::move(problems_);
}

void NestVerifier::variables() {
  for (std::size_t k = 0; k < nest_.variables.size(); ++k) {
    const Variable& v = nest_.variables[k];
    const bool tensor = v.role == Role::kOperand || v.role == Role::kResult || v.role == Role::kView ||
                        (v.role == Role::kLocal && (nest_.form == Form::kTask || nest_.form == Form::kRows));
    const bool scalar = !tensor;
    if (v.role == Role::kView && !is_shown(v)) problem("%{} is a view of no tensor of its type", k);
    if (v.role == Role::kPosition && v.type.scalar != Scalar::kI64) problem("a position is an integer");
    if (v.role == (nest_.form == Form::kFunction ? Role::kCapture : Role::kParameter))
      problem("%{} is {}", k,
              v.role == Role::kParameter ? "a parameter, and the nest no function"
                                         : "taken by a function, and no parameter");
    if (scalar && v.type.rank() != 0) problem("%{} is a scalar", k);
    for (const Extent& e : v.type.shape) extent(e);
    for (const Extent& e : v.origin) extent(e);
    if (v.place) extent(*v.place);
    if (v.place && (v.role != Role::kResult || nest_.form != Form::kRows)) problem("%{} is no part of a result", k);
    for (const Bound& b : v.bounds) {
      extent(b.extent);
      if ((v.role != Role::kOperand && v.role != Role::kView) || b.dimension < 0 ||
          b.dimension >= static_cast<int>(v.type.rank()))
        problem("%{} has no dimension {} to be checked", k, b.dimension);
    }
    if (!v.origin.empty() && (v.role != Role::kResult || v.origin.size() != v.type.rank()))
      problem("the origin of %{} has its rank", k);
  }
  for (const Index& i : nest_.indices) {
    extent(i.begin);
    extent(i.end);
    if (i.block < 0 ? i.whole && nest_.form != Form::kRows
                    : nest_.form != Form::kRows || i.block >= static_cast<int>(nest_.indices.size()))
      problem("index {} has no block", i.name);
  }
  const auto results = std::ranges::count(nest_.variables, Role::kResult, &Variable::role);
  const auto operands = std::ranges::count(nest_.variables, Role::kOperand, &Variable::role);
  if (nest_.form == Form::kKernel && results != 1) problem("a nest has one result");
  if (nest_.form == Form::kFunction && (results + operands != 0 || !nest_.indices.empty() || !nest_.fresh.empty()))
    problem("a function is one of scalars");
}

bool NestVerifier::is_shown(const Variable& view) const {
  if (!view.of || !exists(*view.of)) return false;
  const Variable& v = nest_.variable(*view.of);
  return v.role != Role::kView && v.type.scalar == view.type.scalar && v.type.rank() == view.type.rank() &&
         v.type.rank() > 0;
}

void NestVerifier::returns() {
  int count = 0;
  for_each_statement(nest_.body, [&](const Statement& s) { count += std::holds_alternative<Return>(s.op) ? 1 : 0; });
  const bool last = !nest_.body.empty() && std::holds_alternative<Return>(nest_.body.back().op);
  if (count != (nest_.form == Form::kFunction ? 1 : 0) || last != (nest_.form == Form::kFunction))
    problem("a function returns once, at its end, and nothing else returns");
}

void NestVerifier::extent(const Extent& e) {
  for (const ValueId v : e.values()) {
    if (nest_.form == Form::kTask && exists(v) && nest_.variable(v).type.rank() == 0 &&
        nest_.variable(v).type.scalar == Scalar::kI64)
      continue;
    if (!has_role(v, Role::kCapture) || nest_.variable(v).type.scalar != Scalar::kI64)
      problem("a size mentions %{}, which is no integer that the nest takes", v.id);
  }
}

bool NestVerifier::exists(ValueId v) const {
  return v.valid() && static_cast<std::size_t>(v.id) < nest_.variables.size();
}

void NestVerifier::expr(const Expr& e, std::optional<Scalar> wanted) {
  const std::size_t before = problems_.size();
  ir::verify_expr(values_, e, {nest_.indices.size(), std::nullopt}, problems_);
  if (problems_.size() != before) return;
  ir::for_each_node(e, [this](const ir::ExprNode& n) {
    if (const auto* r = std::get_if<ir::IndexRef>(&n.op); r != nullptr && !indices_.contains(r->label))
      problem("index {} is used outside of its loop", nest_.index(r->label).name);
    if (const auto* r = std::get_if<ir::Read>(&n.op)) read(r->tensor);
  });
  if (wanted && e->type != *wanted)
    problem("an expression of type {} stands where {} is needed", ir::name_of(e->type), ir::name_of(*wanted));
}

void NestVerifier::read(ValueId v) {
  const Variable& variable = nest_.variable(nest_.viewed(v));
  if (variable.role == Role::kResult && (nest_.form != Form::kTask || variable.type.rank() == 0))
    problem("the result %{} is read", v.id);
  const bool local = variable.role == Role::kPosition || (variable.role == Role::kLocal && variable.type.rank() == 0);
  if (local && !defined_.contains(v)) problem("%{} is read before it is defined", v.id);
  sized(nest_.viewed(v));
}

void NestVerifier::sized(ValueId v) {
  if (exists(v) && nest_.variable(v).resized && !sized_.contains(v)) problem("%{} has no extents yet", v.id);
}

void NestVerifier::extent_here(const Extent& e) {
  extent(e);
  for (const ValueId v : e.values()) {
    if (exists(v)) read(v);
  }
}

void NestVerifier::extents(const Range& r) {
  extent_here(r.begin);
  extent_here(r.end);
}

bool NestVerifier::changes(ValueId v) const {
  if (!exists(v)) return false;
  const Variable& variable = nest_.variable(nest_.viewed(v));
  return (nest_.form == Form::kTask || nest_.form == Form::kRows) &&
         (variable.role == Role::kResult || variable.role == Role::kLocal) && variable.type.rank() > 0;
}

void NestVerifier::define(ValueId v, Scalar wanted) {
  if (!has_role(v, Role::kLocal)) return problem("%{} is no local", v.id);
  if (type(v) != wanted) problem("%{} is {}, not {}", v.id, ir::name_of(type(v)), ir::name_of(wanted));
  if (!ever_defined_.insert(v).second) problem("%{} is defined twice", v.id);
  defined_.insert(v);
}

void NestVerifier::let(const Let& l) {
  expr(l.value, std::nullopt);
  if (l.value) define(l.local, l.value->type);
}

std::optional<Scalar> NestVerifier::place(const Place& p, bool needs_value) {
  const bool result = has_role(p.variable, Role::kResult) || changes(p.variable);
  if (!result && !(changing_.contains(p.variable) && defined_.contains(p.variable))) {
    problem("%{} cannot be written", p.variable.id);
    return std::nullopt;
  }
  if (p.subscripts.size() != nest_.variable(p.variable).type.rank())
    problem("%{} has rank {}", p.variable.id, nest_.variable(p.variable).type.rank());
  for (const Expr& s : p.subscripts) expr(s, Scalar::kI64);
  if (result) sized(nest_.viewed(p.variable));
  const bool absent = nest_.variable(p.variable).type.is_compressed();  // initially 0
  if (result && needs_value && !absent && nest_.form != Form::kTask && !nest_.variable(p.variable).continued &&
      !filled_.contains(p.variable))
    problem("%{} is updated, and has no first values", p.variable.id);
  return type(p.variable);
}

std::vector<std::string> verify(const Nest& nest) {
  std::vector<std::string> problems = NestVerifier(nest).run();
  std::ranges::move(verify_stored(nest), std::back_inserter(problems));
  return problems;
}

void require_valid(const Nest& nest) {
  const std::vector<std::string> problems = verify(nest);
  TDSL_CHECK(problems.empty(), "the nest '" + nest.name + "' is well formed: " + problems.front());
}

}  // namespace tdsl::nest
