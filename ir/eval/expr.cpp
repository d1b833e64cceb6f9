#include "ir/eval/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/eval/procedure.h"
#include "ir/graph/check.h"

namespace tdsl::ir::eval {

void stop(const SourceRange& range, const std::string& message) { throw Stop{{range, message}}; }

void check_subscript(std::int64_t subscript, std::int64_t extent, std::size_t dimension, const std::string& tensor,
                     const SourceRange& range) {
  if (subscript >= 0 && subscript < extent) return;
  stop(range, fmt::format("subscript {} is out of bounds: dimension {} of {} has extent {} [out-of-bounds]", subscript,
                          dimension, tensor.empty() ? "the tensor" : tensor, extent));
}

CompiledExpr::CompiledExpr(const Program& program, const Expr& e, const ValueSource& values, const SourceRange& place) {
  TDSL_CHECK(e, "an expression is missing");
  root_ = compile(program, e, values);
  for (Step& s : nodes_) {
    if (!s.range.known()) s.range = place;
  }
}

std::size_t CompiledExpr::compile(const Program& program, const Expr& e, const ValueSource& values) {
  Step step;
  step.type = e->type;
  step.range = e->range;
  match(
      e->op,
      [&](const Constant& c) {
        step.code = Code::kConstant;
        match(
            c.value, [&](bool b) { step.whole = b ? 1 : 0; }, [&](std::int64_t i) { step.whole = i; },
            [&](double d) { step.real = d; }, [&](rt::Complex<double> z) { step.real = z.re; });
      },
      [&](const IndexRef& i) {
        step.code = Code::kIndex;
        step.label = i.label;
      },
      [&](const Read& r) { compile_read(program, r, values, step); },
      [&](const Argument& a) {
        step.code = Code::kArgument;
        step.label = a.position;
      },
      [&](const Unary& u) {
        step.code = Code::kUnary;
        step.op = static_cast<std::uint8_t>(u.op);
      },
      [&](const Binary& b) {
        step.code = Code::kBinary;
        step.op = static_cast<std::uint8_t>(b.op);
      },
      [&](const Select&) { step.code = Code::kSelect; }, [&](const Cast&) { step.code = Code::kCast; },
      [&](const Apply& a) {
        step.code = Code::kApply;
        step.procedure = std::make_shared<CompiledProcedure>(a.procedure, e->range);
        for (const Expr& argument : a.arguments) step.subscripts.push_back(compile(program, argument, values));
      });
  if (step.code != Code::kRead && step.code != Code::kApply) {
    const Children parts = children(*e);
    for (std::size_t k = 0; k < parts.size(); ++k) step.operands[k] = compile(program, parts[k], values);
  }
  find_properties(*e, step);
  nodes_.push_back(std::move(step));
  return nodes_.size() - 1;
}

void CompiledExpr::compile_read(const Program& program, const Read& r, const ValueSource& values, Step& step) {
  step.code = Code::kRead;
  step.array = &values(r.tensor);
  step.name = program.info(r.tensor).name;
  TDSL_CHECK(step.array->shape.size() == r.subscripts.size(), "a read's rank is its tensor's");
  for (const Expr& s : r.subscripts) step.subscripts.push_back(compile(program, s, values));
}

/// Determines which results cannot be negative.
void CompiledExpr::find_properties(const ExprNode& node, Step& step) const {
  const auto child = [&](std::size_t k) -> const Step& { return nodes_[step.operands[k]]; };
  if (const auto* c = std::get_if<Constant>(&node.op)) {
    const auto* d = std::get_if<double>(&c->value);
    step.nonnegative = d != nullptr && *d >= 0;
  } else if (std::holds_alternative<Read>(node.op)) {
    step.nonnegative = step.array->nonnegative;
  } else if (const auto* u = std::get_if<Unary>(&node.op)) {
    const bool same = u->op == UnaryOp::kSparse || u->op == UnaryOp::kDense;
    const bool never = (same && child(0).nonnegative) || u->op == UnaryOp::kAbs || u->op == UnaryOp::kSqrt ||
                       u->op == UnaryOp::kExp || u->op == UnaryOp::kExp2 || u->op == UnaryOp::kCosh ||
                       u->op == UnaryOp::kErfc || u->op == UnaryOp::kSigmoid || u->op == UnaryOp::kRelu;
    step.nonnegative = never;
  } else if (const auto* b = std::get_if<Binary>(&node.op)) {
    const bool both = child(0).nonnegative && child(1).nonnegative;
    switch (b->op) {
      case BinaryOp::kMul:
      case BinaryOp::kAbsentMul:
      case BinaryOp::kMutualMul: step.nonnegative = both || equal(b->left, b->right); break;
      case BinaryOp::kDiv:
      case BinaryOp::kAbsentDiv: step.nonnegative = both; break;
      case BinaryOp::kAdd: step.nonnegative = both; break;
      case BinaryOp::kKeyedUniform: step.nonnegative = true; break;
      case BinaryOp::kMax: step.nonnegative = child(0).nonnegative || child(1).nonnegative; break;
      case BinaryOp::kMin: step.nonnegative = both; break;
      case BinaryOp::kPow: {
        const Step& exponent = child(1);
        const double n = is_float(exponent.type) ? exponent.real : static_cast<double>(exponent.whole);
        step.nonnegative = child(0).nonnegative || (exponent.code == Code::kConstant && std::fmod(n, 2.0) == 0);
        break;
      }
      default: break;
    }
  } else if (std::holds_alternative<Cast>(node.op)) {
    step.nonnegative = child(0).nonnegative;
  }
  step.nonnegative = step.nonnegative && !is_complex(node.type);
}

Slot CompiledExpr::combine(const Slot& a, const Slot& b) {
  combined_[0] = a;
  combined_[1] = b;
  arguments_ = combined_;
  return slot_at(root_);
}

std::int64_t CompiledExpr::locate(const Step& s, double& bound) {
  std::int64_t position = 0;
  for (std::size_t d = 0; d < s.subscripts.size(); ++d) {
    const Step& subscript = nodes_[s.subscripts[d]];
    Whole w;
    if (subscript.code == Code::kIndex) {
      w.value = labels_[subscript.label];
    } else {
      w = whole_at(s.subscripts[d]);
    }
    const std::int64_t extent = s.array->shape[d];
    if (w.value < 0 || w.value >= extent) check_subscript(w.value, extent, d, s.name, s.range);
    bound = std::max(bound, w.bound);
    position = position * extent + w.value;
  }
  return position;
}

Slot CompiledExpr::applied(const Step& s) {
  std::vector<Slot> arguments(s.subscripts.size());
  for (std::size_t k = 0; k < arguments.size(); ++k) arguments[k] = slot_at(s.subscripts[k]);
  return s.procedure->call(std::move(arguments));
}

Real CompiledExpr::real_at(std::size_t index) {
  const Step& s = nodes_[index];
  switch (s.code) {
    case Code::kConstant: return {s.real, 0};
    case Code::kRead: {
      double bound = 0;
      const auto at = static_cast<std::size_t>(locate(s, bound));
      Real found = real_element(*s.array, at);
      found.bound = std::max(bound, found.bound);
      return found;
    }
    case Code::kArgument: return arguments_[s.label].real;
    case Code::kUnary: return real_unary(s);
    case Code::kBinary: return real_binary(s);
    case Code::kSelect: {
      const Whole condition = whole_at(s.operands[0]);
      Real chosen = real_at(s.operands[condition.value != 0 ? 1 : 2]);
      chosen.bound = std::max(chosen.bound, condition.bound);
      return chosen;
    }
    case Code::kCast: return real_cast(s);
    case Code::kApply: return applied(s).real;
    case Code::kIndex: break;
  }
  TDSL_CHECK(false, "this node is not a float");
  return {};
}

Whole CompiledExpr::whole_at(std::size_t index) {
  const Step& s = nodes_[index];
  switch (s.code) {
    case Code::kConstant: return {s.whole, 0};
    case Code::kIndex: return {labels_[s.label], 0};
    case Code::kRead: {
      double bound = 0;
      const auto at = static_cast<std::size_t>(locate(s, bound));
      Whole found = whole_element(*s.array, at);
      found.bound = std::max(bound, found.bound);
      return found;
    }
    case Code::kArgument: return arguments_[s.label].whole;
    case Code::kUnary: return whole_unary(s);
    case Code::kBinary: return whole_binary(s);
    case Code::kSelect: {
      const Whole condition = whole_at(s.operands[0]);
      const Whole chosen = whole_at(s.operands[condition.value != 0 ? 1 : 2]);
      return {chosen.value, std::max(chosen.bound, condition.bound)};
    }
    case Code::kCast: return whole_cast(s);
    case Code::kApply: return applied(s).whole;
  }
  TDSL_CHECK(false, "unknown expression node");
  return {};
}

std::optional<Literal> value_of_constant(const Program& program, const Expr& e, const SourceRange& place) {
  bool closed = true;
  for_each_node(e, [&](const ExprNode& n) {
    closed = closed && !std::holds_alternative<Read>(n.op) && !std::holds_alternative<IndexRef>(n.op) &&
             !std::holds_alternative<Argument>(n.op) && !std::holds_alternative<Apply>(n.op);
  });
  if (!closed) return std::nullopt;
  const ValueSource nothing = [](ValueId) -> const Array& { throw std::logic_error("a constant reads no tensor"); };
  CompiledExpr compiled(program, e, nothing, place);
  const Literal value = literal_of(e->type, compiled.value(nullptr));
  const auto* z = std::get_if<rt::Complex<double>>(&value);
  if (z == nullptr) return value;
  return z->im == 0 && !std::signbit(z->im) ? std::optional<Literal>(z->re) : std::nullopt;
}

}  // namespace tdsl::ir::eval
