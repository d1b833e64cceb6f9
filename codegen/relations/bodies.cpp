#include "codegen/relations/bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "codegen/operations/describe.h"
#include "codegen/walk/host_evaluator.h"
#include "ir/eval/eval.h"
#include "ir/graph/check.h"

namespace tdsl::codegen {

namespace {

using Index = plan::Index;

/// Thrown for an unknown host value: there is no body.
struct Unknown {};

/// Rewrites the expressions of a kernel.
class Renumbering {
 public:
  Renumbering(const OperationProgram& program, const RecordedOp& op, const ComputeKernel& kernel,
              const HostEvaluator& host)
      : program_(program), op_(op), kernel_(kernel), host_(host) {}

  Expr operator()(const Expr& e) const {
    if (!e) return e;
    if (const auto* r = std::get_if<ir::Read>(&e->op)) return read(e, *r);
    std::vector<Expr> parts = ir::children(*e);
    for (Expr& part : parts) part = (*this)(part);
    return ir::with_children(e, parts);
  }

 private:
  Expr read(const Expr& e, const ir::Read& r) const {
    if (program_.is_host(r.tensor)) {
      const std::optional<ir::Literal> value = host_.get(r.tensor);
      if (!value) throw Unknown{};
      return ir::constant(e->type, *value, e->range);
    }
    const auto operand = kernel_.operand.find(e.id());
    if (operand == kernel_.operand.end()) return base(e, r);
    std::vector<Expr> labels;
    for (const SymbolicDim& d : op_.reads[static_cast<std::size_t>(operand->second)].dims) {
      labels.push_back(d.terms.size() == 1 ? ir::index_ref(d.terms[0].label) : ir::constant_i64(0));
    }
    return ir::read(e->type, ValueId{operand->second}, std::move(labels), e->range);
  }
  /// A read of the element that is being written.
  Expr base(const Expr& e, const ir::Read& r) const {
    if (!op_.has_base() || r.tensor != op_.base) throw Unknown{};
    return ir::read(e->type, ValueId{static_cast<std::int32_t>(op_.reads.size())}, r.subscripts, e->range);
  }

  const OperationProgram& program_;
  const RecordedOp& op_;
  const ComputeKernel& kernel_;
  const HostEvaluator& host_;
};

Body body_of(const OperationProgram& program, const OperationStep& step, const HostEvaluator& host) {
  const RecordedOp& op = *step.op;
  const ComputeKernel& kernel = *step.kernel;
  Body body{kernel.compute, kernel.type, {}, describe(program, kernel.compute)};
  const Renumbering renumbered(program, op, kernel, host);
  for (Expr& e : body.compute.bodies) e = renumbered(e);
  body.compute.guard = renumbered(body.compute.guard);
  for (const SymbolicAccess& a : op.reads) body.operands.push_back(program.type(a.tensor).scalar);
  if (op.has_base()) {
    body.operands.push_back(program.type(op.base).scalar);
    body.compute.base = ValueId{static_cast<std::int32_t>(op.reads.size())};
  }
  return body;
}

/// True if the operation computes several steps of a loop: it has no body then.
bool computes_steps(const OperationStep& step, const HostEvaluator& host) {
  if (!step.kernel->steps) return false;
  const std::optional<ir::Literal> steps = host.get(*step.kernel->steps);
  return !steps || std::get<std::int64_t>(*steps) != 1;
}

class BodyObserver : public OperationObserver {
 public:
  BodyObserver(const OperationProgram& program, Bodies& bodies) : program_(program), bodies_(bodies) {}

  void emitted(plan::TensorId made, const OperationStep& step, const HostEvaluator& host) override {
    if (step.kernel == nullptr || step.kernel->compute.iteration || step.kernel->compute.bodies.empty() ||
        step.epilogue || computes_steps(step, host))
      return;
    try {
      bodies_.emplace(made, body_of(program_, step, host));
    } catch (const Unknown&) {
      // The operation has no body then.
    }
  }

  void product(plan::TensorId made, const plan::Op& op, ir::Scalar type) override {
    Body body{{}, type, std::vector<ir::Scalar>(op.reads.size(), type), op.name};
    for (std::size_t l = 0; l < op.labels.size(); ++l) {
      const ir::Label label{op.labels[l].name, Extent(op.labels[l].range.lo), Extent(op.labels[l].range.hi)};
      (l < op.shape.size() ? body.compute.out : body.compute.reduce).push_back(label);
    }
    if (!op.reduce.empty()) body.compute.monoid = ir::Monoid{ir::Monoid::Kind::kSum, {}, {}, {}};
    Expr product;
    for (std::size_t k = 0; k < op.reads.size(); ++k) {
      std::vector<Expr> labels;
      for (const plan::DimAccess& dim : op.reads[k].dims) labels.push_back(ir::index_ref(dim.terms.front().label));
      const Expr factor = ir::read(type, ValueId{static_cast<std::int32_t>(k)}, std::move(labels));
      product = product ? ir::binary(ir::BinaryOp::kMul, product, factor) : factor;
    }
    body.compute.bodies = {product};
    bodies_.emplace(made, std::move(body));
  }

 private:
  const OperationProgram& program_;
  Bodies& bodies_;
};

}  // namespace

plan::Region survey_with_bodies(const OperationProgram& program, const WalkRequest& request, Bodies& bodies,
                                const record::Forms& forms) {
  BodyObserver observer(program, bodies);
  return record::survey(recording_of(program, request, &observer), forms);
}

namespace {

/// Calls f for every label used as a number in the expression.
void for_each_number(const Expr& e, const std::function<void(int)>& f) {
  if (!e || std::holds_alternative<ir::Read>(e->op)) return;
  if (const auto* i = std::get_if<ir::IndexRef>(&e->op)) f(i->label);
  for (const Expr& part : ir::children(*e)) for_each_number(part, f);
}

/// The expression with numeric uses of labels read from operands.
Expr counted_by(const Expr& e, const std::vector<int>& counted) {
  if (!e || std::holds_alternative<ir::Read>(e->op)) return e;
  if (const auto* i = std::get_if<ir::IndexRef>(&e->op)) {
    const int operand = counted[static_cast<std::size_t>(i->label)];
    TDSL_CHECK(operand >= 0, "a label that counts has its values");
    return ir::read(ir::Scalar::kI64, ValueId{operand}, {ir::index_ref(i->label)});
  }
  std::vector<Expr> parts = ir::children(*e);
  for (Expr& part : parts) part = counted_by(part, counted);
  return ir::with_children(e, parts);
}

ir::Array typed(const ir::algebra::Array& array, ir::Scalar type) {
  ir::Array result;
  result.type = type;
  result.shape = array.bounds;
  if (ir::is_float(type)) {
    result.floats = array.elements;
  } else {
    for (const double x : array.elements) result.integers.push_back(static_cast<std::int64_t>(x));
  }
  return result;
}

ir::algebra::Array untyped(const ir::Array& array) {
  ir::algebra::Array result{array.shape, array.floats};
  for (const std::int64_t x : array.integers) result.elements.push_back(static_cast<double>(x));
  return result;
}

ir::Type type_of(ir::Scalar scalar, const std::vector<Index>& shape) {
  ir::Type type{scalar, {}, {}};
  for (const Index extent : shape) type.shape.emplace_back(extent);
  return type;
}

/// The body over the extents, preceded by `operands` values.
ir::Compute over(const Body& body, const std::vector<Index>& extents, const std::vector<int>& counted) {
  ir::Compute compute = body.compute;
  compute.bodies = {counted_by(compute.bodies.front(), counted)};
  compute.guard = counted_by(compute.guard, counted);
  std::size_t label = 0;
  for (auto* list : {&compute.out, &compute.reduce}) {
    for (ir::Label& l : *list) {
      l.begin = Extent(0);
      l.end = Extent(extents[label++]);
    }
  }
  return compute;
}

}  // namespace

namespace {

Expr reading_diagonals(const Expr& e) {
  if (!e) return e;
  if (const auto* r = std::get_if<ir::Read>(&e->op)) {
    const bool twice = r->subscripts.size() == 2 && ir::equal(r->subscripts[0], r->subscripts[1]) &&
                       std::holds_alternative<ir::IndexRef>(r->subscripts[0]->op);
    return twice ? ir::read(e->type, r->tensor, {r->subscripts[0]}, e->range) : e;
  }
  std::vector<Expr> parts = ir::children(*e);
  for (Expr& part : parts) part = reading_diagonals(part);
  return ir::with_children(e, parts);
}

}  // namespace

Body reading_diagonals(const Body& body) {
  Body vectors = body;
  for (Expr& e : vectors.compute.bodies) e = reading_diagonals(e);
  vectors.compute.guard = reading_diagonals(vectors.compute.guard);
  return vectors;
}

std::vector<int> counting_labels(const Body& body) {
  std::set<int> labels;
  for (const Expr& e : {body.compute.bodies.front(), body.compute.guard})
    for_each_number(e, [&](int l) { labels.insert(l); });
  return {labels.begin(), labels.end()};
}

ir::algebra::Array evaluated(const Body& body, const std::vector<Index>& extents, const std::vector<int>& counted,
                             const ir::algebra::Block& operands) {
  ir::Program program;
  program.files = {"block"};
  std::vector<ir::Array> arrays;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const ir::Scalar type = k < body.operands.size() ? body.operands[k] : ir::Scalar::kI64;
    arrays.push_back(typed(operands[k], type));
    const ValueId v = program.new_value(type_of(type, operands[k].bounds), std::to_string(k), {});
    program.body.nodes.push_back({{}, {v}, ir::Input{std::to_string(k)}});
  }
  ir::Compute compute = over(body, extents, counted);
  std::vector<Index> shape;
  for (std::size_t d = 0; d < compute.out.size(); ++d) shape.push_back(extents[d]);
  for (std::size_t d = 0; d < compute.left.size(); ++d)
    shape[d] = extents[static_cast<std::size_t>(std::get<ir::IndexRef>(compute.left[d]->op).label)];
  const ValueId result = program.new_value(type_of(body.type, shape), "result", {});
  program.body.nodes.push_back({{}, {result}, std::move(compute)});
  program.body.nodes.push_back({{}, {}, ir::Output{"result", result}});
  ir::EvalOptions options;
  options.input = [&](const std::string& name, ir::Scalar) { return arrays[std::stoul(name)]; };
  const ir::EvalResult found = ir::evaluate(program, options);
  TDSL_CHECK(!found.error, found.error ? found.error->message : "");
  return untyped(found.outputs.at("result"));
}

}  // namespace tdsl::codegen
