#include "ir/differentiate/adjoints.h"

#include <iterator>

#include "ir/graph/check.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

/// The value if `body` reads all of it in order and it has exactly that type, which is dense.
std::optional<ValueId> whole_read(const Program& program, const Expr& body, const Type& type) {
  const auto* r = std::get_if<Read>(&body->op);
  if (r == nullptr || body->type != type.scalar || !(program.type(r->tensor).shape == type.shape) ||
      program.type(r->tensor).has_sparse())
    return std::nullopt;
  for (std::size_t d = 0; d < type.rank(); ++d) {
    if (bare_label(r->subscripts[d]) != static_cast<std::int32_t>(d)) return std::nullopt;
  }
  return r->tensor;
}

}  // namespace

ValueId NodeWriter::emit(Compute compute, const Type& type, const std::string& name, const SourceRange& range,
                         std::optional<ValueId> result) {
  const ValueId v = result ? *result : program_.new_value(type, name, range);
  nodes_.push_back({range, {v}, std::move(compute)});
  return v;
}

void NodeWriter::insert(std::size_t position, std::vector<Node> nodes) {
  nodes_.insert(nodes_.begin() + static_cast<std::ptrdiff_t>(position), std::make_move_iterator(nodes.begin()),
                std::make_move_iterator(nodes.end()));
}

ValueId NodeWriter::filled(const Type& type, const Expr& body, const std::string& name, const SourceRange& range,
                           std::optional<ValueId> result) {
  Compute c;
  c.out = plain_labels(type.shape);
  c.bodies = {body};
  return emit(std::move(c), type, name, range, result);
}

Expr Adjoint::at(const Type& type, std::vector<Expr> subscripts) const {
  return uniform ? uniform : read(type.scalar, value, std::move(subscripts));
}

Type adjoint_type(const Program& program, ValueId v) {
  const Type& type = program.type(v);
  return {operand_type(type.scalar), type.shape, {}};
}

Type Adjoints::type_of(ValueId v) const { return adjoint_type(writer_.program(), v); }

std::string Adjoints::name_of(ValueId v) const {
  const std::string& name = writer_.program().info(v).name;
  return name.empty() ? "adjoint" : name + "_adjoint";
}

void Adjoints::add(ValueId v, Compute contribution, bool combines, const SourceRange& range) {
  TDSL_CHECK(!totals_.contains(v), "a derivative was added up before all of it was known");
  contributions_[v].push_back({std::move(contribution), combines, range});
}

void Adjoints::add(ValueId v, ValueId contribution, const SourceRange& range) {
  add(v, Adjoint{contribution, {}}, range);
}

void Adjoints::add(ValueId v, const Adjoint& contribution, const SourceRange& range) {
  const Type type = type_of(v);
  Compute c;
  c.out = plain_labels(type.shape);
  c.bodies = {contribution.at(type, plain_subscripts(type.rank()))};
  add(v, std::move(c), false, range);
}

bool Adjoints::is_elementwise(const Contribution& c) {
  return c.compute.left.empty() && c.compute.reduce.empty() && !c.compute.guard;
}

std::optional<Adjoint> Adjoints::total(ValueId v) {
  const auto done = totals_.find(v);
  if (done != totals_.end()) return done->second;
  const auto result = results_.find(v);
  const auto adjoint = sum(v, result == results_.end() ? std::nullopt : std::optional(result->second));
  if (adjoint) totals_.emplace(v, *adjoint);
  return adjoint;
}

ValueId Adjoints::stored(ValueId v, const Adjoint& a, const SourceRange& range, std::optional<ValueId> result) {
  if (!a.uniform && !result) return a.value;
  const Type type = type_of(v);
  const Expr body = a.at(type, plain_subscripts(type.rank()));
  if (const auto whole = whole_read(writer_.program(), body, type); whole && !result) return *whole;
  return writer_.filled(type, body, name_of(v), range, result);
}

ValueId Adjoints::tensor(ValueId v) {
  const SourceRange range = writer_.program().info(v).range;
  const auto adjoint = total(v);
  if (adjoint) return stored(v, *adjoint, range, std::nullopt);
  const Type type = type_of(v);
  const auto result = results_.find(v);
  return writer_.filled(type, float_constant(type.scalar, 0.0), name_of(v), range,
                        result == results_.end() ? std::nullopt : std::optional(result->second));
}

ValueId Adjoints::so_far(ValueId v) {
  const SourceRange range = writer_.program().info(v).range;
  const auto adjoint = sum(v, std::nullopt);
  const Type type = type_of(v);
  const ValueId value = adjoint ? stored(v, *adjoint, range, std::nullopt)
                                : writer_.filled(type, float_constant(type.scalar, 0.0), name_of(v), range);
  replace(v, value, range);
  return value;
}

std::vector<ValueId> Adjoints::open() const {
  std::vector<ValueId> values;
  for (const auto& [v, contributions] : contributions_) values.push_back(v);
  return values;
}

void Adjoints::replace(ValueId v, ValueId total, const SourceRange& range) {
  contributions_.erase(v);
  add(v, total, range);
}

std::optional<Adjoint> Adjoints::sum(ValueId v, std::optional<ValueId> result) {
  const auto found = contributions_.find(v);
  if (found == contributions_.end()) return std::nullopt;
  std::vector<Contribution> full = std::move(found->second);
  contributions_.erase(found);
  const auto first_update =
      std::stable_partition(full.begin(), full.end(), [](const Contribution& c) { return c.compute.left.empty(); });
  std::vector<Contribution> updates(std::make_move_iterator(first_update), std::make_move_iterator(full.end()));
  full.erase(first_update, full.end());
  std::optional<Adjoint> adjoint;
  if (!full.empty()) adjoint = sum_of_full(v, std::move(full), updates.empty() ? result : std::nullopt);
  for (std::size_t k = 0; k < updates.size(); ++k) {
    std::optional<ValueId> base;
    if (adjoint) base = stored(v, *adjoint, updates[k].range, std::nullopt);
    const bool last = k + 1 == updates.size();
    adjoint = Adjoint{updated(v, std::move(updates[k]), base, last ? result : std::nullopt), {}};
  }
  return adjoint;
}

std::optional<Adjoint> Adjoints::sum_of_full(ValueId v, std::vector<Contribution> full, std::optional<ValueId> result) {
  const Type type = type_of(v);
  const SourceRange range = full.front().range;
  if (full.size() == 1 && !is_elementwise(full[0]))
    return Adjoint{writer_.emit(std::move(full[0].compute), type, name_of(v), range, result), {}};
  Expr total = float_constant(type.scalar, 0.0);
  for (Contribution& c : full) {
    Expr term = c.compute.bodies[0];
    if (!is_elementwise(c)) {
      const ValueId part = writer_.emit(std::move(c.compute), type, name_of(v), c.range);
      term = read(type.scalar, part, plain_subscripts(type.rank()));
    }
    total = sum_of(total, term);
  }
  if (!result) {
    if (const auto whole = whole_read(writer_.program(), total, type))
      return type.rank() == 0 ? Adjoint{{}, total} : Adjoint{*whole, {}};
    if (std::holds_alternative<Constant>(total->op)) return Adjoint{{}, total};
    const auto* r = std::get_if<Read>(&total->op);
    if (r != nullptr && r->subscripts.empty()) return Adjoint{{}, total};
  }
  const bool one_number = !mentions_labels(total);
  if (type.rank() > 0 && one_number && !std::holds_alternative<Constant>(total->op)) {
    // Computed once, not per element.
    const ValueId number = writer_.filled({type.scalar, {}, {}}, total, name_of(v), range);
    total = read(type.scalar, number, {});
    if (!result) return Adjoint{{}, total};
  }
  const ValueId value = writer_.filled(type, total, name_of(v), range, result);
  return type.rank() == 0 ? Adjoint{{}, read(type.scalar, value, {})} : Adjoint{value, {}};
}

ValueId Adjoints::updated(ValueId v, Contribution update, std::optional<ValueId> base, std::optional<ValueId> result) {
  const Type type = type_of(v);
  Compute& c = update.compute;
  if (!c.reduce.empty()) {
    // First the sums, then their scatter.
    Compute sums;
    sums.out = c.out;
    sums.reduce = std::move(c.reduce);
    sums.bodies = c.bodies;
    sums.guard = c.guard;
    sums.monoid = c.monoid;
    Type part{type.scalar, {}, {}};
    std::vector<Expr> subscripts;
    for (std::size_t l = 0; l < c.out.size(); ++l) {
      part.shape.push_back(c.out[l].end - c.out[l].begin);
      subscripts.push_back(index_difference(index_ref(static_cast<std::int32_t>(l)), expr_of(c.out[l].begin)));
    }
    const ValueId value = writer_.emit(std::move(sums), part, name_of(v), update.range);
    c.reduce.clear();
    c.monoid.reset();
    c.guard = Expr();
    c.bodies = {read(type.scalar, value, std::move(subscripts))};
  }
  c.base = base;
  if (base || update.combines) c.combine = Monoid{Monoid::Kind::kSum, {}, {}, {}};
  return writer_.emit(std::move(c), type, name_of(v), update.range, result);
}

}  // namespace tdsl::ir
