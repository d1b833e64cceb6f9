#include "codegen/operations/builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "codegen/operations/host_values.h"
#include "codegen/operations/vector_forms.h"
#include "ir/graph/affine.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

ProgramBuilder::ProgramBuilder(const ir::Program& program) : scopes_(1) {
  result_.name = program.name;
  result_.files = program.files;
  result_.values = program.values;
  result_.host = host_values(program);
  current_ = &result_.steps;
}

ValueId ProgramBuilder::new_value(ir::Type type, std::string name, SourceRange range, bool host) {
  const ValueId v{static_cast<std::int32_t>(result_.values.size())};
  result_.values.push_back({std::move(type), std::move(name), range});
  result_.host.push_back(host);
  return v;
}

void ProgramBuilder::warn(std::string id, SourceRange range, std::string message) {
  const bool known = std::ranges::any_of(
      result_.warnings, [&](const RunWarning& w) { return w.id == id && w.range == range && w.message == message; });
  if (!known) result_.warnings.push_back({std::move(id), range, std::move(message)});
}

Extent ProgramBuilder::bytes_of(ValueId tensor, SourceRange range) {
  Extent bytes = ir::size_of(type(tensor).scalar);
  for (const Extent& e : type(tensor).shape) bytes = bytes * rewritten(e, range);
  return bytes;
}

ValueId ProgramBuilder::resolve(ValueId v) const {
  auto found = alias_.find(v);
  while (found != alias_.end()) {
    v = found->second;
    found = alias_.find(v);
  }
  return v;
}

void ProgramBuilder::add(SourceRange range, StepOp op) { current_->push_back({range, std::move(op)}); }

Steps ProgramBuilder::nested(const std::function<void()>& f) {
  Steps steps;
  Steps* const outer = std::exchange(current_, &steps);
  scopes_.emplace_back();
  f();
  scopes_.pop_back();
  current_ = outer;
  return steps;
}

ValueId ProgramBuilder::on_host(ValueId v, SourceRange range) {
  v = resolve(v);
  if (is_host(v)) return v;
  TDSL_CHECK(type(v).rank() == 0, "a tensor is used as a scalar");
  for (const Scope& scope : scopes_) {
    const auto found = scope.on_host.find(v);
    if (found != scope.on_host.end()) return found->second;
  }
  const ValueId target = read_on_host(v, range);
  scopes_.back().on_host[v] = target;
  return target;
}

ValueId ProgramBuilder::read_on_host(ValueId v, SourceRange range) {
  const auto scalar = scalars_.find(v);
  if (scalar == scalars_.end()) {
    const ValueId target = new_value(type(v), result_.info(v).name, range, true);
    add(range, ControlReadStep{target, v, new_site()});
    return target;
  }
  const Expr value = in_subscript(scalar->second);
  const ValueId target = new_value(type(v), result_.info(v).name, range, true);
  add(range, HostStep{target, value});
  return target;
}

namespace {

/// True if the host, which is compiled without optimisation, computes the bits of a kernel.
bool has_same_bits_on_host(const Expr& e) {
  bool same = !ir::may_fail(e);
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    const auto* u = std::get_if<ir::Unary>(&n.op);
    const auto* b = std::get_if<ir::Binary>(&n.op);
    const bool exact_draw = b != nullptr && ir::is_keyed(b->op) && b->op != ir::BinaryOp::kKeyedNormal;
    same = same && !std::holds_alternative<ir::Apply>(n.op) && (u == nullptr || !ir::is_library_function(u->op)) &&
           (b == nullptr || exact_draw || (b->op != ir::BinaryOp::kPow && !ir::is_library_function(b->op)));
  });
  return same;
}

}  // namespace

void ProgramBuilder::define_scalar(ValueId v, Expr value) {
  std::set<ValueId> data;
  ir::for_each_read(value, [&](const ir::Read& r) {
    if (!is_host(r.tensor)) data.insert(r.tensor);
  });
  const bool one = data.size() == 1 && type(*data.begin()).rank() == 0;
  if (one && has_same_bits_on_host(value)) scalars_.emplace(v, std::move(value));
}

ValueId ProgramBuilder::as_tensor(ValueId v, SourceRange range) {
  v = resolve(v);
  if (!is_host(v)) return v;
  for (const Scope& scope : scopes_) {
    const auto found = scope.as_tensor.find(v);
    if (found != scope.as_tensor.end()) return found->second;
  }
  const ir::Type scalar = type(v);
  const ValueId target = new_value(scalar, result_.info(v).name, range, false);
  auto op = std::make_shared<RecordedOp>();
  op->op_class = plan::OpClass::kSource;
  op->name = result_.info(v).name.empty() ? "scalar" : result_.info(v).name;
  op->site = new_site();
  auto kernel = std::make_shared<ComputeKernel>();
  kernel->compute.bodies = {ir::read(scalar.scalar, v, {}, range)};
  kernel->type = scalar.scalar;
  add(range, OperationStep{target, op, kernel});
  scopes_.back().as_tensor[v] = target;
  return target;
}

std::optional<ValueId> ProgramBuilder::hoist(const Expr& e) {
  bool host_only = true;
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    if (const auto* r = std::get_if<ir::Read>(&n.op)) host_only = host_only && is_host(r->tensor);
    if (std::holds_alternative<ir::IndexRef>(n.op)) host_only = false;
  });
  if (!host_only) return std::nullopt;
  if (const auto* r = std::get_if<ir::Read>(&e->op)) return r->tensor;
  const bool fails = ir::may_fail(e);
  const std::optional<Extent> size = fails ? ir::subscript_polynomial(e) : std::nullopt;
  for (const Scope& scope : scopes_) {
    for (const auto& [expr, value] : scope.hoisted) {
      if (ir::equal(expr, e) || (size && *size == size_behind(value))) return value;
    }
  }
  if (fails) return std::nullopt;
  const ValueId target = new_value({e->type, {}, {}}, "", e->range, true);
  add(e->range, HostStep{target, e});
  // Carried variables are updated only at the end of a scope, where the memo ends too.
  scopes_.back().hoisted.emplace_back(e, target);
  return target;
}

void ProgramBuilder::hoist_quotients(const Extent& size, SourceRange range) {
  for (const auto& [monomial, coefficient] : size.terms()) {
    for (const Extent::AtomRef& atom : monomial) {
      if (atom->kind == Extent::Atom::Kind::kValue) continue;
      const bool divides = atom->kind == Extent::Atom::Kind::kQuotient;
      const Expr e = ir::binary(divides ? ir::BinaryOp::kDiv : ir::BinaryOp::kRem, expression(atom->numerator, range),
                                expression(atom->denominator, range));
      if (hoist(e)) continue;
      const ValueId v = new_value({ir::Scalar::kI64, {}, {}}, "size", range, true);
      add(range, HostStep{v, e});
      scopes_.back().hoisted.emplace_back(e, v);
      sizes_.emplace(v, divides ? Extent::quotient(atom->numerator, atom->denominator)
                                : Extent::remainder(atom->numerator, atom->denominator));
    }
  }
}

Extent ProgramBuilder::size_behind(ValueId v) const {
  const auto found = sizes_.find(v);
  return found == sizes_.end() ? Extent::of(v) : found->second;
}

Expr ProgramBuilder::definition(ValueId v) const {
  const auto found = definitions_.find(v);
  return found == definitions_.end() ? Expr() : found->second;
}

Expr ProgramBuilder::expression(const Extent& e, SourceRange range) {
  Expr sum;
  for (const auto& [monomial, coefficient] : e.terms()) {
    Expr product;
    for (const Extent::AtomRef& atom : monomial) {
      const Expr factor = atom_expression(*atom, range);
      product = product ? ir::binary(ir::BinaryOp::kMul, product, factor) : factor;
    }
    if (!product) {
      product = ir::constant_i64(coefficient);
    } else if (coefficient != 1) {
      product = ir::binary(ir::BinaryOp::kMul, ir::constant_i64(coefficient), product);
    }
    sum = sum ? ir::binary(ir::BinaryOp::kAdd, sum, product) : product;
  }
  return sum ? sum : ir::constant_i64(0);
}

Expr ProgramBuilder::atom_expression(const Extent::Atom& atom, SourceRange range) {
  if (atom.kind == Extent::Atom::Kind::kValue) return ir::read(ir::Scalar::kI64, atom.value, {});
  // A separate value: a subscript with a division would not be affine.
  const ir::BinaryOp op = atom.kind == Extent::Atom::Kind::kQuotient ? ir::BinaryOp::kDiv : ir::BinaryOp::kRem;
  const Expr value = ir::binary(op, expression(atom.numerator, range), expression(atom.denominator, range));
  const ValueId v = new_value({ir::Scalar::kI64, {}, {}}, "size", range, true);
  add(range, HostStep{v, value});
  return ir::read(ir::Scalar::kI64, v, {});
}

Expr ProgramBuilder::in_subscript(const Expr& e) {
  return ir::rewrite(e, [this](const Expr& node) {
    const auto* r = std::get_if<ir::Read>(&node->op);
    if (r == nullptr || !r->subscripts.empty()) return node;
    const ValueId v = on_host(r->tensor, node->range);
    return v == r->tensor ? node : ir::read(node->type, v, {}, node->range);
  });
}

Expr ProgramBuilder::rewritten(const Expr& e) {
  if (!e) return e;
  return ir::rewrite(e, [this](const Expr& node) {
    const auto* r = std::get_if<ir::Read>(&node->op);
    if (r == nullptr) return node;
    std::vector<Expr> subscripts = r->subscripts;
    bool same = resolve(r->tensor) == r->tensor;
    for (Expr& s : subscripts) {
      const Expr before = s;
      s = in_subscript(s);
      same = same && s.id() == before.id();
    }
    return same ? node : ir::read(node->type, resolve(r->tensor), std::move(subscripts), node->range);
  });
}

Extent ProgramBuilder::rewritten(const Extent& e, SourceRange range) {
  return e.substitute([&](ValueId v) -> std::optional<Extent> {
    const ValueId h = on_host(v, range);
    return h == v ? std::nullopt : std::optional(Extent::of(h));
  });
}

}  // namespace tdsl::codegen
