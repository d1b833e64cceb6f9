#include "codegen/operations/describe.h"
#include "ir/graph/procedure.h"

#include <fmt/format.h>

namespace tdsl::codegen {

namespace {

using ir::match;

constexpr int kUnaryOperator = 9;

class Describer {
 public:
  Describer(const OperationProgram& program, const std::vector<std::string>& labels)
      : program_(program), labels_(labels) {}

  [[nodiscard]] std::string text(const Expr& e, int outer = 0) const {
    return match(
        e->op, [](const ir::Constant& c) { return literal(c.value); },
        [&](const ir::IndexRef& r) {
          const auto l = static_cast<std::size_t>(r.label);
          return l < labels_.size() ? labels_[l] : fmt::format("#{}", r.label);
        },
        [&](const ir::Read& r) {
          std::string result = name_of(program_, r.tensor);
          if (r.subscripts.empty()) return result;
          return result + "[" + list(r.subscripts) + "]";
        },
        [](const ir::Argument& a) { return std::string(a.position == 0 ? "a" : "b"); },
        [&](const ir::Unary& u) {
          const bool sign = u.op == ir::UnaryOp::kNeg || u.op == ir::UnaryOp::kNot;
          if (sign) return fmt::format("{}{}", spelling(u.op), text(u.operand, kUnaryOperator));
          return fmt::format("{}({})", spelling(u.op), text(u.operand));
        },
        [&](const ir::Binary& b) {
          const OperatorText op = spelling(b.op);
          if (!op.infix) return fmt::format("{}({}, {})", op.text, text(b.left), text(b.right));
          const std::string s =
              fmt::format("{} {} {}", text(b.left, op.precedence), op.text, text(b.right, op.precedence + 1));
          return op.precedence < outer ? "(" + s + ")" : s;
        },
        [&](const ir::Select& s) {
          const std::string body =
              fmt::format("if {} then {} else {}", text(s.condition), text(s.when_true), text(s.when_false));
          return outer > 0 ? "(" + body + ")" : body;
        },
        [&](const ir::Cast& c) { return fmt::format("{}({})", ir::name_of(e->type), text(c.operand)); },
        [&](const ir::Apply& a) { return fmt::format("{}({})", a.procedure->name, list(a.arguments)); });
  }

 private:
  static std::string literal(const ir::Literal& value) {
    return match(
        value, [](bool b) { return std::string(b ? "true" : "false"); },
        [](std::int64_t i) { return fmt::format("{}", i); }, [](double d) { return fmt::format("{}", d); },
        [](rt::Complex<double> z) { return fmt::format("{}", z.re); });
  }
  [[nodiscard]] std::string list(const std::vector<Expr>& items) const {
    std::string result;
    for (const Expr& e : items) result += (result.empty() ? "" : ", ") + text(e);
    return result;
  }

  const OperationProgram& program_;
  const std::vector<std::string>& labels_;
};

}  // namespace

OperatorText spelling(ir::BinaryOp op) {
  using enum ir::BinaryOp;
  switch (op) {
    case kAdd: return {"+", true, 6};
    case kSub: return {"-", true, 6};
    case kMul: return {"*", true, 7};
    case kDiv: return {"/", true, 7};
    case kRem: return {"%", true, 7};
    case kPow: return {"**", true, 8};
    case kMod: return {"mod", false, 0};
    case kMin: return {"min", false, 0};
    case kMax: return {"max", false, 0};
    case kAtan2: return {"atan2", false, 0};
    case kHypot: return {"hypot", false, 0};
    case kCopysign: return {"copysign", false, 0};
    case kComplex: return {"complex", false, 0};
    case kKeyedBits:
    case kKeyedUniform:
    case kKeyedNormal:
    case kKeyedBelow: return {ir::name_of(op), false, 0};
    case kEq: return {"==", true, 4};
    case kNe: return {"!=", true, 4};
    case kLt: return {"<", true, 5};
    case kLe: return {"<=", true, 5};
    case kGt: return {">", true, 5};
    case kGe: return {">=", true, 5};
    case kAnd: return {"&&", true, 2};
    case kOr: return {"||", true, 1};
    case kBitAnd:
    case kBitOr:
    case kBitXor:
    case kShiftLeft:
    case kShiftRight: return {ir::name_of(op), false, 0};
    case kAbsentMul:
    case kMutualMul: return {"*", true, 7};
    case kAbsentDiv: return {"/", true, 7};
    case kEdge: return {"edge", false, 0};
    case kReflect: return {"reflect", false, 0};
    case kSymmetric: return {"symmetric", false, 0};
    case kAround: return {"around", false, 0};
  }
  return {"?", false, 0};
}

std::string_view spelling(ir::UnaryOp op) {
  if (op == ir::UnaryOp::kNeg) return "-";
  if (op == ir::UnaryOp::kNot) return "!";
  return ir::name_of(op);
}

std::string name_of(const OperationProgram& program, ValueId v) {
  const std::string& name = program.info(v).name;
  return name.empty() ? fmt::format("t{}", v.id) : name;
}

std::string title_of(const OperationProgram& program, ValueId v) {
  const auto found = program.titles.find(v);
  return found == program.titles.end() ? name_of(program, v) : found->second;
}

std::string describe(const OperationProgram& program, const Expr& e, const std::vector<std::string>& labels) {
  return Describer(program, labels).text(e);
}

std::string describe(const OperationProgram& program, const ir::Compute& compute) {
  std::vector<std::string> labels;
  std::string reduced;
  for (const ir::Label& l : compute.out) labels.push_back(l.name);
  for (const ir::Label& l : compute.reduce) {
    labels.push_back(l.name);
    reduced += (reduced.empty() ? "" : ", ") + l.name;
  }
  const std::string body = describe(program, compute.bodies.front(), labels);
  if (!compute.monoid) return body;
  const std::string op = compute.monoid->kind == ir::Monoid::Kind::kUser
                             ? compute.monoid->name
                             : std::string(ir::name_of(compute.monoid->kind));
  return fmt::format("{}[{}]({})", op, reduced, body);
}

std::string describe(const OperationProgram& program, const Extent& e) {
  return e.to_string([&](ValueId v) { return name_of(program, v); });
}

}  // namespace tdsl::codegen
