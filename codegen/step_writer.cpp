#include "codegen/step_writer.h"

#include "codegen/describe.h"
#include "codegen/operation.h"
#include "ir/check.h"

namespace tdsl::codegen {

ValueId StepWriter::host(const std::string& name, const Expr& e) {
  const ValueId v = builder_.new_value({e->type, {}, {}}, name, range_, true);
  builder_.add(range_, HostStep{v, e});
  return v;
}

Extent StepWriter::number(const std::string& name, const Expr& e) { return Extent::of(host(name, e)); }

Extent StepWriter::smaller(const std::string& name, const Extent& a, const Extent& b) {
  return number(name, ir::binary(ir::BinaryOp::kMin, expr(a), expr(b)));
}

Extent StepWriter::quotient(const std::string& name, const Extent& a, const Extent& b) {
  return number(name, ir::binary(ir::BinaryOp::kDiv, expr(a), expr(b)));
}

Expr StepWriter::expr(const Extent& e) {
  Expr sum;
  for (const auto& [monomial, coefficient] : e.terms()) {
    Expr product;
    for (const Extent::AtomRef& atom : monomial) {
      Expr factor;
      if (atom->kind == Extent::Atom::Kind::kValue) {
        factor = ir::read(ir::Scalar::kI64, atom->value, {});
      } else {
        // A value of its own: a subscript that divides would not be affine.
        const bool quotient = atom->kind == Extent::Atom::Kind::kQuotient;
        const ir::BinaryOp op = quotient ? ir::BinaryOp::kDiv : ir::BinaryOp::kRem;
        const ValueId v = host("size", ir::binary(op, expr(atom->numerator), expr(atom->denominator)));
        factor = ir::read(ir::Scalar::kI64, v, {});
      }
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

Expr StepWriter::at(ValueId tensor, std::vector<Expr> subscripts) const {
  return ir::read(builder_.type(tensor).scalar, tensor, std::move(subscripts), range_);
}

Expr StepWriter::from(const Extent& by, int label) {
  return by == Extent(0) ? i(label) : ir::binary(ir::BinaryOp::kAdd, expr(by), i(label));
}

Expr StepWriter::zero(ir::Scalar s) const {
  return ir::is_float(s) ? ir::constant(s, 0.0) : ir::constant(s, std::int64_t{0});
}

ValueId StepWriter::declare(const std::string& name, ir::Scalar scalar, std::vector<Extent> shape) {
  return builder_.new_value({scalar, std::move(shape), {}}, name, range_, false);
}

void StepWriter::lower(ValueId target, ir::Compute compute) {
  const ir::Node node{range_, {target}, std::move(compute)};
  lower_compute(builder_, node, std::get<ir::Compute>(node.op));
}

namespace {

std::vector<ir::Label> labels_of(const std::vector<Axis>& axes) {
  std::vector<ir::Label> labels;
  for (const Axis& a : axes) labels.push_back({a.name, Extent(0), a.extent});
  return labels;
}
std::vector<Extent> shape_of(const std::vector<Axis>& axes) {
  std::vector<Extent> shape;
  for (const Axis& a : axes) shape.push_back(a.extent);
  return shape;
}

}  // namespace

void StepWriter::map_into(ValueId target, const std::vector<Axis>& axes, const Expr& body) {
  ir::Compute c;
  c.out = labels_of(axes);
  c.bodies = {body};
  lower(target, std::move(c));
}

ValueId StepWriter::map(const std::string& name, const std::vector<Axis>& axes, const Expr& body) {
  const ValueId target = declare(name, body->type, shape_of(axes));
  map_into(target, axes, body);
  return target;
}

ValueId StepWriter::product(const std::string& name, const std::vector<Axis>& axes, const Axis& reduce, const Expr& body) {
  const ValueId target = declare(name, body->type, shape_of(axes));
  ir::Compute c;
  c.out = labels_of(axes);
  c.reduce = labels_of({reduce});
  c.bodies = {body};
  c.monoid = ir::Monoid{ir::Monoid::Kind::kSum, {}, {}, {}};
  lower(target, std::move(c));
  return target;
}

ValueId StepWriter::sum(const std::string& name, const std::vector<Axis>& axes, const Expr& body) {
  const ValueId target = declare(name, body->type, {});
  ir::Compute c;
  c.reduce = labels_of(axes);
  c.bodies = {body};
  c.monoid = ir::Monoid{ir::Monoid::Kind::kSum, {}, {}, {}};
  lower(target, std::move(c));
  return target;
}

ValueId StepWriter::updated(ValueId tensor, ir::Compute compute) {
  const ir::ValueInfo info = builder_.program().info(tensor);
  const ValueId target = builder_.new_value(info.type, info.name, range_, false);
  compute.base = tensor;
  lower(target, std::move(compute));
  return target;
}

ValueId StepWriter::replaced(ValueId tensor, const std::vector<Axis>& axes, const std::vector<Expr>& left, const Expr& body) {
  ir::Compute c;
  c.out = labels_of(axes);
  c.bodies = {body};
  c.left = left;
  return updated(tensor, std::move(c));
}

ValueId StepWriter::added_product(ValueId tensor, const std::vector<Axis>& axes, const Axis& reduce, const std::vector<Expr>& left,
                                  const Expr& body) {
  ir::Compute c;
  c.out = labels_of(axes);
  c.reduce = labels_of({reduce});
  c.bodies = {body};
  c.left = left;
  c.monoid = ir::Monoid{ir::Monoid::Kind::kSum, {}, {}, {}};
  c.combine = c.monoid;
  return updated(tensor, std::move(c));
}

ValueId StepWriter::replaced_where(ValueId tensor, const std::vector<Axis>& axes, const Expr& guard, const Expr& body) {
  ir::Compute c;
  c.out = labels_of(axes);
  c.bodies = {body};
  c.guard = guard;
  return updated(tensor, std::move(c));
}

void StepWriter::name(ValueId target, ValueId source) { builder_.add(range_, CopyStep{target, source, true, false}); }

ValueId StepWriter::prebuilt(const std::string& name, ir::Scalar scalar, const Prebuilt& kernel) {
  const ValueId target = declare(name, scalar, shape_of(kernel.axes));
  prebuilt_into(target, kernel);
  return target;
}

void StepWriter::prebuilt_into(ValueId target, const Prebuilt& kernel) {
  std::vector<AccessTemplate> reads;
  for (const KernelOperand& o : kernel.operands) {
    AccessTemplate read{o.tensor, {}, {}};
    for (const int label : o.labels) {
      const bool whole = label == KernelOperand::kWhole;
      read.dims.push_back(whole ? DimTemplate{{}, Extent(0), Extent(0), true} : DimTemplate{{{label, Extent(1)}}, Extent(0), Extent(1), false});
      read.text += (read.text.empty() ? "" : ", ") + (whole ? std::string(":") : kernel.axes[static_cast<std::size_t>(label)].name);
    }
    read.text = name_of(builder_.program(), o.tensor) + "[" + read.text + "]";
    reads.push_back(std::move(read));
  }
  prebuilt_into(target, kernel, std::move(reads));
}

void StepWriter::prebuilt_into(ValueId target, const Prebuilt& kernel, std::vector<AccessTemplate> reads) {
  auto op = std::make_shared<OpTemplate>();
  op->op_class = plan::OpClass::kMap;
  op->site = builder_.new_site();
  const std::string& known = builder_.program().info(target).name;
  op->name = known.empty() ? kernel.function : known;
  for (std::size_t d = 0; d < kernel.axes.size(); ++d) {
    const bool uncut = d < kernel.uncut.size() && kernel.uncut[d];
    op->labels.push_back({LabelTemplate::Kind::kOut, kernel.axes[d].name, Extent(0), kernel.axes[d].extent, uncut});
  }
  TDSL_CHECK(!reads.empty(), "a prebuilt kernel has an operand");
  const ir::Scalar scalar = builder_.type(reads.front().tensor).scalar;
  op->reads = std::move(reads);
  op->flops_per_point = kernel.flops;
  op->flops_factor = kernel.factor;
  op->tile = kernel.tile;
  auto routine = std::make_shared<RoutineTemplate>();
  routine->function = "rt::routines::" + kernel.function;
  routine->type = scalar;
  routine->arguments = kernel.arguments;
  routine->names_line = kernel.names_line;
  builder_.add(range_, OperationStep{target, std::move(op), std::make_shared<KernelTemplate>(), std::move(routine)});
}

void StepWriter::either(ValueId condition, const std::vector<ValueId>& results, const Form& form, const Form& other) {
  for (const ValueId v : results) builder_.add(range_, DeclareStep{v});
  const auto side = [&](const Form& chosen) {
    return builder_.nested([&] {
      std::vector<ValueId> values;
      for (const ValueId v : results) {
        const ir::ValueInfo info = builder_.program().info(v);
        values.push_back(builder_.new_value(info.type, info.name, range_, false));
      }
      chosen(values);
      for (std::size_t k = 0; k < values.size(); ++k) builder_.add(range_, CopyStep{results[k], values[k], false, false});
    });
  };
  Steps then_steps = side(form);
  Steps else_steps = side(other);
  builder_.add(range_, IfStep{.condition = condition, .then_steps = std::move(then_steps), .else_steps = std::move(else_steps)});
}

std::vector<ValueId> StepWriter::loop(const Extent& count, const std::vector<ValueId>& inits,
                                      const std::function<std::vector<ValueId>(const Extent&, const std::vector<ValueId>&)>& body) {
  ForStep step;
  step.begin = host("first", ir::constant_i64(0));
  step.end = host("blocks", expr(count));
  step.index = builder_.new_value({ir::Scalar::kI64, {}, {}}, "block", range_, true);
  for (const ValueId init : inits) {
    const ir::ValueInfo info = builder_.program().info(init);
    const ValueId variable = builder_.new_value(info.type, info.name, range_, false);
    builder_.add(range_, CopyStep{variable, init, true, false});
    step.carried.push_back(variable);
  }
  const std::vector<ValueId> variables = step.carried;
  step.body = builder_.nested([&] {
    const std::vector<ValueId> next = body(Extent::of(step.index), variables);
    TDSL_CHECK(next.size() == variables.size(), "a loop gives every carried value anew");
    for (std::size_t k = 0; k < next.size(); ++k) {
      if (next[k] != variables[k]) builder_.add(range_, CopyStep{variables[k], next[k], false, false});
    }
  });
  builder_.add(range_, std::move(step));
  return variables;
}

}  // namespace tdsl::codegen
