#include "codegen/lower/operation.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/loops/guard_bounds.h"
#include "codegen/lower/accesses.h"
#include "codegen/lower/compute_lowering.h"
#include "codegen/operations/describe.h"
#include "codegen/operations/host_values.h"
#include "ir/analysis/combined.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"
#include "ir/graph/procedure.h"
#include "runtime/record/sum_of_products.h"

namespace tdsl::codegen {

using ir::Compute;
using ir::Monoid;

namespace {

/// True if the expression selects one of several elements of a tensor, so that the condition belongs to the subscript.
bool chooses_place(const Expr& e, ValueId tensor) {
  if (const auto* s = std::get_if<ir::Select>(&e->op))
    return chooses_place(s->when_true, tensor) && chooses_place(s->when_false, tensor);
  const auto* r = std::get_if<ir::Read>(&e->op);
  return r != nullptr && r->tensor == tensor;
}

bool chooses_place(const ir::Select& s) {
  const Expr* first = &s.when_true;
  while (const auto* inner = std::get_if<ir::Select>(&(*first)->op)) first = &inner->when_true;
  const auto* r = std::get_if<ir::Read>(&(*first)->op);
  return r != nullptr && chooses_place(s.when_true, r->tensor) && chooses_place(s.when_false, r->tensor);
}

/// Operations on floats of which an operation on complex numbers consists; 1 for others.
double floats_in(const ir::ExprNode& node) {
  const auto* b = std::get_if<ir::Binary>(&node.op);
  const auto* u = std::get_if<ir::Unary>(&node.op);
  if (u != nullptr && ir::is_part(u->op)) return u->op == ir::UnaryOp::kArg ? 1 : 0;
  if (!ir::is_complex(node.type) || b == nullptr) return 1;
  using enum ir::BinaryOp;
  return b->op == kAdd || b->op == kSub ? 2 : b->op == kComplex ? 0 : 6;
}

}  // namespace

double flops_of(const Expr& e) {
  if (!e || std::holds_alternative<ir::Read>(e->op)) return 0;
  if (const auto* s = std::get_if<ir::Select>(&e->op); s != nullptr && chooses_place(*s)) return 0;
  const bool operates = std::holds_alternative<ir::Binary>(e->op) || std::holds_alternative<ir::Unary>(e->op);
  double flops = operates ? floats_in(*e) : 0;
  if (const auto* a = std::get_if<ir::Apply>(&e->op)) flops = ir::operations_of(*a->procedure);
  for (const Expr& child : ir::children(*e)) flops += flops_of(child);
  return flops;
}

namespace {

/// Reads in a product of reads.
std::size_t factors_in(const Expr& product) {
  const auto* b = std::get_if<ir::Binary>(&product->op);
  return b == nullptr ? 1 : factors_in(b->left) + factors_in(b->right);
}

}  // namespace

void ComputeLowering::run() {
  if (builder_.is_host(target_)) return host_arithmetic();
  reduce_scattered();
  TDSL_CHECK(!compute_.monoid || !ir::locates(*compute_.monoid), "positions are found by two reductions");
  TDSL_CHECK(!compute_.monoid || !compute_.combine || ir::equal(*compute_.monoid, *compute_.combine),
             "a map combines a reduction with old values");
  if (is_scalar_arithmetic(compute_) && !compute_.guard && !compute_.base && !compute_.combine)
    builder_.define_scalar(target_, compute_.bodies.front());
  builder_.add(range_, operation());
}

void ComputeLowering::host_arithmetic() {
  Expr value = compute_.bodies.front();
  const Expr nothing = compute_.fill ? compute_.fill : ir::zero_of(type_.scalar);
  const Expr old = compute_.base ? ir::read(type_.scalar, *compute_.base, {}) : nothing;
  if (compute_.combine) value = ir::combined(*compute_.combine, old, value);
  if (compute_.guard) value = ir::select(compute_.guard, value, old);
  builder_.define(target_, value);
  builder_.add(range_, HostStep{target_, value});
}

std::vector<Extent> ComputeLowering::extents() {
  std::vector<Extent> result;
  for (const Extent& e : type_.shape) result.push_back(builder_.rewritten(e, range_));
  return result;
}

Expr ComputeLowering::separately(Compute compute, ir::Scalar scalar, const char* suffix) {
  ir::Type type{scalar, {}, {}};
  std::vector<Expr> subscripts;
  for (std::size_t l = 0; l < compute.out.size(); ++l) {
    const ir::Label& label = compute.out[l];
    type.shape.push_back(label.end - label.begin);
    Expr s = ir::index_ref(static_cast<std::int32_t>(l));
    if (!(label.begin == Extent(0))) s = ir::binary(ir::BinaryOp::kSub, s, expr_of(label.begin));
    subscripts.push_back(s);
  }
  const std::string& name = builder_.program().info(target_).name;
  const ValueId v = builder_.new_value(type, name.empty() ? "" : name + suffix, range_, false);
  ComputeLowering(builder_, v, std::move(compute), range_).run();
  return ir::read(scalar, v, std::move(subscripts), range_);
}

Expr ComputeLowering::expr_of(const Extent& e) { return builder_.expression(e, range_); }

OperationStep ComputeLowering::operation() {
  using Result = ir::SparseIteration::Result;
  const Result result = compute_.iteration ? compute_.iteration->result : Result::kDense;
  if (result == Result::kMoved) return rearranged();
  TDSL_CHECK(compute_.iteration || !uses_compressed(), "operations on compressed tensors have a sparse iteration");
  auto op = std::make_shared<RecordedOp>();
  auto kernel = std::make_shared<ComputeKernel>();
  op->in_any_order = compute_.in_any_order && iteration_ == nullptr;
  op->site =
      builder_.new_sites(op->in_any_order ? record::SumOfProducts::places(factors_in(compute_.bodies.front())) : 1);
  op->name = name();
  labels(*op);
  if (op->labels.size() > plan::kMaxDims) {
    throw NotSupported(
        range_,
        fmt::format("{} index variables in one statement are not supported yet (at most {}): compute a part of it in a "
                    "`let` of its own",
                    op->labels.size(), plan::kMaxDims));
  }
  const double flops = flops_of(compute_.bodies.front());
  if (!compute_.left.empty()) left(*op);
  if (std::ranges::any_of(op->out, [](const auto& o) { return o.label == plan::kAnyLabel; })) {
    for (std::size_t d = 0; d < op->out.size(); ++d) {
      kernel->scattered.push_back(op->out[d].label == plan::kAnyLabel ? std::optional(op->shape[d]) : std::nullopt);
    }
    if (const Extent bytes = builder_.bytes_of(target_, range_); !bytes.constant() && !assembled())
      builder_.add(range_, GathersStep{"", bytes});
  }
  op->base = compute_.base.value_or(ValueId());
  for (const Extent& e : builder_.program().info(target_).tile) op->tile.push_back(builder_.rewritten(e, range_));
  const bool contraction = iteration_ == nullptr && is_contraction();
  const bool combines = compute_.monoid || compute_.combine;
  inline_lookup(*op, *kernel);
  TDSL_CHECK(iteration_ == nullptr || kernel->gathers.empty(), "a sparse iteration gathers nothing in panels");
  if (compute_.monoid && !once_) op->combine = combine_of(*compute_.monoid);
  kernel->once = assembled() && (once_ || !compute_.combine);
  const bool complex = ir::is_complex(compute_.bodies.front()->type);
  op->flops_per_point = contraction          ? (complex ? 8 : 2)
                        : compute_.by_search ? 0
                                             : flops + (combines ? (complex ? 2 : 1) : 0);
  kernel->type = type_.scalar;
  kernel->compute = compute_;
  find_accesses(builder_, *op, *kernel, range_, contraction || op->in_any_order);
  op->op_class = contraction                            ? plan::OpClass::kContraction
                 : compute_.monoid                      ? plan::OpClass::kReduce
                 : assembled()                          ? plan::OpClass::kMap
                 : op->reads.empty() && !op->has_base() ? plan::OpClass::kSource
                                                        : plan::OpClass::kMap;
  op->divisible =
      op->op_class == plan::OpClass::kMap && kernel->scattered.empty() && kernel->gathers.empty() && !op->reads.empty();
  op->overwrites = op->divisible && op->has_base() && !compute_.combine && !compute_.guard && places_once();
  if (op->in_any_order) builder_.program().chooses = true;
  if (iteration_ != nullptr) stored(*op, *kernel);
  const bool compresses = result == Result::kPoints;
  if (compresses) op->sparsity.result = plan::SparseResult::kGuessed;
  if (assembled()) {
    op->sparsity.result = plan::SparseResult::kAssembled;
  } else if (builder_.program().type(target_).is_compressed()) {
    PointBounds bounds = point_bounds(builder_.program(), *op, *kernel, target_);
    op->sparsity.bounds = std::move(bounds.bounds);
    if (compresses && bounds.all && !op->sparsity.bounds.empty()) op->sparsity.result = plan::SparseResult::kAtVisited;
    kernel->bounding = std::move(bounds.said);
  }
  if (compresses) {
    op->set_uncut(1);
    op->divisible = false;
  }
  // A map without store subscripts writes each element once, where its guard is false too.
  if (!op->has_base()) op->overwrites = op->divisible && compute_.left.empty() && !compute_.combine;
  return {target_, op, kernel};
}

/// True if every store subscript is an index variable, each of which occurs once.
bool ComputeLowering::places_once() const {
  std::set<std::int32_t> labels;
  for (const Expr& e : compute_.left) {
    const std::int32_t label = ir::bare_label(e);
    if (label < 0 || !labels.insert(label).second) return false;
  }
  return labels.size() == compute_.out.size();
}

std::string ComputeLowering::name() const {
  const std::string& known = builder_.program().info(target_).name;
  if (!known.empty()) return known;
  const std::string text = describe(builder_.program(), compute_);
  return text.size() <= 48 ? text : "temporary";
}

void ComputeLowering::labels(RecordedOp& op) const {
  using Role = plan::LabelRole;
  const auto add = [&](const ir::Label& l, Role role) {
    if (iteration_ != nullptr) role = stored_role(static_cast<int>(op.labels.size()));
    SymbolicLabel label{l.name, {l.begin, l.end}};
    if (role == Role::kPlain) return op.labels.push_back(std::move(label));
    if (role == Role::kReduce) return op.add_reduce(std::move(label));
    op.add_out(std::move(label));
    if (role == Role::kWhole) op.set_uncut(op.shape.size() - 1);
  };
  for (const ir::Label& l : compute_.out) add(l, compute_.left.empty() ? Role::kOut : Role::kPlain);
  for (const ir::Label& l : compute_.reduce) add(l, Role::kReduce);
}

void ComputeLowering::left(RecordedOp& op) {
  op.shape = extents();
  op.out.clear();
  const std::vector<ir::Label> labels = indices_of(op);
  std::vector<std::string> names;
  for (const ir::Label& l : labels) names.push_back(l.name);
  for (std::size_t d = 0; d < compute_.left.size(); ++d) {
    const Expr& e = compute_.left[d];
    const std::string text = describe(builder_.program(), e, names);
    const auto form = inverted(d);
    if (!form) {
      op.out.push_back({plan::kAnyLabel});
      continue;
    }
    const bool constant = form->terms.empty();
    op.out.push_back({constant ? plan::kNoLabel : form->terms[0].label,
                      constant ? 1 : *form->terms[0].coefficient.constant(), form->constant});
    if (compute_.guard) {
      guarded_left(*form, labels, op.shape[d], text);
    } else {
      check_affine(builder_, *form, labels, op.shape[d], text, range_);
    }
  }
}

std::optional<AffineForm> ComputeLowering::plain_subscript(const Expr& e) {
  auto form = ir::affine_of(e, [this](const Expr& x) { return builder_.hoist(x); });
  if (!form || form->terms.size() > 1 || (form->terms.size() == 1 && !form->terms[0].coefficient.constant()))
    return std::nullopt;
  return form;
}

void ComputeLowering::guarded_left(const AffineForm& form, const std::vector<ir::Label>& labels, const Extent& extent,
                                   const std::string& text) {
  if (ir::provably_inside(form, labels, extent)) return;
  Expr subscript = expr_of(form.constant);
  for (const Term& t : form.terms) {
    const Expr part =
        ir::binary(ir::BinaryOp::kMul, ir::constant_i64(*t.coefficient.constant()), ir::index_ref(t.label));
    subscript = ir::binary(ir::BinaryOp::kAdd, subscript, part);
  }
  const Expr low = ir::binary(ir::BinaryOp::kGe, subscript, ir::constant_i64(0));
  const Expr high = ir::binary(ir::BinaryOp::kLt, subscript, expr_of(extent));
  Compute check;
  check.reduce = compute_.out;
  check.reduce.insert(check.reduce.end(), compute_.reduce.begin(), compute_.reduce.end());
  check.bodies = {ir::binary(ir::BinaryOp::kAnd, low, high)};
  check.guard = compute_.guard;
  check.monoid = Monoid{Monoid::Kind::kAll, {}, {}, {}};
  const Expr inside = separately(std::move(check), ir::Scalar::kBool, "_inside");
  const ValueId v = std::get<ir::Read>(inside->op).tensor;
  builder_.add(range_,
               AssertStep{v, fmt::format("the subscript `{}` lies outside its dimension", text), builder_.new_site()});
}

bool ComputeLowering::is_contraction() {
  return ir::is_float(type_.scalar) && plain_or_shifted_left() &&
         ir::contraction_of(compute_, [this](const ir::Read& r) { return single_labels(r); });
}

/// Every out label subscripts one dimension, shifted by constants.
bool ComputeLowering::plain_or_shifted_left() {
  if (compute_.left.empty()) return true;
  if (!compute_.base || compute_.left.size() != compute_.out.size()) return false;
  std::set<int> labels;
  for (const Expr& e : compute_.left) {
    const auto form = plain_subscript(e);
    if (!form || form->terms.size() != 1 || !(form->terms[0].coefficient == Extent(1))) return false;
    labels.insert(form->terms[0].label);
  }
  return labels.size() == compute_.out.size();
}

std::optional<ir::LabelSet> ComputeLowering::single_labels(const ir::Read& r) {
  if (builder_.is_host(r.tensor)) return std::nullopt;
  ir::LabelSet labels = 0;
  for (const Expr& s : r.subscripts) {
    const auto form = ir::affine_of(s, [this](const Expr& x) { return builder_.hoist(x); });
    if (!form) return std::nullopt;
    for (const Term& t : form->terms) {
      if (t.label >= 64 || !moves_forwards(t.coefficient) || (labels >> t.label & 1) != 0) return std::nullopt;
      labels |= ir::LabelSet{1} << t.label;
    }
  }
  return labels;
}

bool ComputeLowering::moves_forwards(const Extent& coefficient) const {
  if (coefficient.terms().size() != 1) return false;
  const auto& [sizes, number] = *coefficient.terms().begin();
  return number > 0 && std::ranges::all_of(sizes, [this](const Extent::AtomRef& size) {
           const auto runs_up_to = [&](const ir::Label& l) {
             return l.begin == Extent(0) && size->kind == Extent::Atom::Kind::kValue &&
                    l.end == builder_.size_behind(size->value);
           };
           return std::ranges::any_of(compute_.out, runs_up_to) || std::ranges::any_of(compute_.reduce, runs_up_to);
         });
}

namespace {

/// True if it contains an integer division without index variables.
bool divides_sizes(const Expr& e) {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    const auto* b = std::get_if<ir::Binary>(&n.op);
    found = found || (b != nullptr && n.type == ir::Scalar::kI64 &&
                      (b->op == ir::BinaryOp::kDiv || b->op == ir::BinaryOp::kRem) && !ir::mentions_labels(b->left) &&
                      !ir::mentions_labels(b->right));
  });
  return found;
}

}  // namespace

Compute resolved(ProgramBuilder& builder, const ir::Node& node, const Compute& compute) {
  Compute one = compute;
  one.bodies = {builder.rewritten(compute.bodies[0])};
  one.guard = builder.rewritten(compute.guard);
  for (Expr& e : one.left) e = builder.rewritten_subscript(e);
  if (one.iteration) {
    for (ir::StoredOperand& operand : one.iteration->operands) operand.tensor = builder.resolve(operand.tensor);
  }
  const bool divides = divides_sizes(one.bodies.front()) || (one.guard && divides_sizes(one.guard)) ||
                       std::ranges::any_of(one.left, divides_sizes);
  for (auto* list : {&one.out, &one.reduce}) {
    for (ir::Label& l : *list) {
      l.begin = builder.rewritten(l.begin, node.range);
      l.end = builder.rewritten(l.end, node.range);
      if (!divides) continue;
      builder.hoist_quotients(l.begin, node.range);
      builder.hoist_quotients(l.end, node.range);
    }
  }
  return one;
}

void lower_compute(ProgramBuilder& builder, const ir::Node& node, const Compute& compute) {
  TDSL_CHECK(node.results.size() == 1, "an operation has one result");
  Compute one = resolved(builder, node, compute);
  const ValueId target = builder.resolve(node.results[0]);
  if (one.base)
    one.base = builder.is_host(target) ? builder.resolve(*one.base) : builder.as_tensor(*one.base, node.range);
  ComputeLowering(builder, target, std::move(one), node.range).run();
}

}  // namespace tdsl::codegen
