#include "codegen/print/emit_expr.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "codegen/operations/describe.h"
#include "codegen/operations/vector_forms.h"

namespace tdsl::codegen {

namespace {

using ir::BinaryOp;
using ir::match;
using ir::Scalar;

constexpr int kSum = 6;
constexpr int kProduct = 7;
constexpr int kUnary = 9;

std::string parenthesised(std::string text, bool needed) { return needed ? "(" + text + ")" : text; }

/// A constant divisor that can neither fail nor overflow.
bool harmless_divisor(const Expr& e) {
  const auto* c = std::get_if<ir::Constant>(&e->op);
  const auto* value = c ? std::get_if<std::int64_t>(&c->value) : nullptr;
  return value != nullptr && *value != 0 && *value != -1;
}

/// True for the exponent of a square.
bool is_two(const Expr& e) {
  const auto* c = std::get_if<ir::Constant>(&e->op);
  if (c == nullptr) return false;
  const auto* whole = std::get_if<std::int64_t>(&c->value);
  const auto* real = std::get_if<double>(&c->value);
  return (whole != nullptr && *whole == 2) || (real != nullptr && *real == 2.0);
}

/// An integer's sign and digits. The smallest has no literal, and no sign before its name.
std::pair<std::string, std::string> sign_and_magnitude(std::int64_t value) {
  if (value == std::numeric_limits<std::int64_t>::min()) return {"", "std::numeric_limits<Index>::min()"};
  return {value < 0 ? "-" : "", fmt::format("{}", value < 0 ? -value : value)};
}

std::string cpp_float(Scalar s, double value) {
  if (ir::is_complex(s)) return fmt::format("{}({})", cpp_type(s), cpp_float(ir::part_type(s), value));
  if (ir::is_half(s)) return fmt::format("{}({})", cpp_type(s), cpp_float(Scalar::kF32, value));
  const bool narrow = s == Scalar::kF32;
  const std::string_view type = cpp_type(s);
  if (std::isnan(value)) return fmt::format("std::numeric_limits<{}>::quiet_NaN()", type);
  if (std::isinf(value)) return fmt::format("{}std::numeric_limits<{}>::infinity()", value < 0 ? "-" : "", type);
  std::string text = narrow ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return narrow ? text + "F" : text;
}

}  // namespace

std::string_view cpp_type(Scalar s) { return s == Scalar::kI64 ? "Index" : ir::cpp_type_of(s); }

std::string cpp_constant(Scalar s, const ir::Literal& value) {
  return match(
      value, [](bool b) { return std::string(b ? "true" : "false"); },
      [&](std::int64_t i) {
        if (i == std::numeric_limits<std::int64_t>::min()) return std::string("std::numeric_limits<Index>::min()");
        if (s == Scalar::kI32 && i == std::numeric_limits<std::int32_t>::min()) {
          return std::string("std::numeric_limits<std::int32_t>::min()");
        }
        // The identities of minima; the smallest, those of maxima, has no literal.
        if (s == Scalar::kI64 && i == std::numeric_limits<std::int64_t>::max())
          return std::string("std::numeric_limits<Index>::max()");
        if (s == Scalar::kU64) return fmt::format("std::uint64_t{{{}U}}", static_cast<std::uint64_t>(i));
        return fmt::format("{}{{{}}}", cpp_type(s), i);
      },
      [&](double d) { return cpp_float(s, d); }, [&](rt::Complex<double> z) { return cpp_float(s, z.re); });
}

std::string next_text(const std::string& i, std::int64_t step) {
  if (step == 1 || step == -1) return (step > 0 ? "++" : "--") + i;
  return fmt::format("{0} = rt::advanced({0}, {1})", i, step);
}

void ExprEmitter::set_arguments(std::string left, std::string right) {
  arguments_ = {std::move(left), std::move(right)};
}

std::string ExprEmitter::text(const Expr& e, int outer) {
  return match(
      e->op,
      [&](const ir::Constant& c) {
        std::string text = cpp_constant(e->type, c.value);
        return parenthesised(std::move(text), text.starts_with('-') && outer >= kUnary);
      },
      [&](const ir::IndexRef& r) { return labels_[static_cast<std::size_t>(r.label)]; },
      [&](const ir::Read& r) { return read(*e, r); },
      [&](const ir::Argument& a) { return arguments_[static_cast<std::size_t>(a.position)]; },
      [&](const ir::Unary& u) { return unary(*e, u); }, [&](const ir::Binary& b) { return binary(*e, b, outer); },
      [&](const ir::Select& s) { return select(s, outer); }, [&](const ir::Cast& c) { return cast(*e, c); },
      [&](const ir::Apply& a) {
        applies_ = true;
        std::string arguments;
        for (const Expr& argument : a.arguments) arguments += (arguments.empty() ? "" : ", ") + text(argument);
        return fmt::format("{}({})", procedures_(a.procedure), arguments);
      });
}

std::string ExprEmitter::read(const ir::ExprNode& node, const ir::Read& r) {
  if (element_ == nullptr) return host_(r.tensor);
  std::vector<std::string> subscripts;
  for (const Expr& s : r.subscripts) subscripts.push_back(subscript(s));
  return element_(node, subscripts);
}

std::string ExprEmitter::select(const ir::Select& s, int outer) {
  if (both_branches_ && both_branches_(s))
    return fmt::format("math::choose({}, {}, {})", text(s.condition), text(s.when_true), text(s.when_false));
  return parenthesised(fmt::format("{} ? {} : {}", text(s.condition, 1), text(s.when_true, 1), text(s.when_false, 1)),
                       outer > 0);
}

std::string ExprEmitter::unary(const ir::ExprNode& node, const ir::Unary& u) {
  // In procedures, whose variables carry no absence.
  if (u.op == ir::UnaryOp::kSparse || u.op == ir::UnaryOp::kDense) return text(u.operand, kUnary);
  if (u.op == ir::UnaryOp::kNot) return "!" + text(u.operand, kUnary);
  if (u.op == ir::UnaryOp::kNeg && ir::is_float(node.type)) {
    const std::string operand = text(u.operand, kUnary + 1);
    return operand.starts_with('-') ? "-(" + operand + ")" : "-" + operand;
  }
  const std::string_view function = u.op == ir::UnaryOp::kNeg ? "negate" : ir::name_of(u.op);
  // Of complex functions, the vector library has exp, abs and arg.
  const bool complex = ir::is_complex(u.operand->type);
  const bool in_vectors = !complex || u.op == ir::UnaryOp::kExp || u.op == ir::UnaryOp::kArg;
  const bool library = (ir::is_library_function(u.op) && in_vectors) || (complex && u.op == ir::UnaryOp::kAbs);
  calls_library_ = calls_library_ || library;
  return fmt::format("{}::{}({})", library && both_branches_ ? "math" : "scalar", function, text(u.operand));
}

std::string ExprEmitter::bitwise(const ir::Binary& b, int outer) {
  std::string list;
  const auto add = [&](const auto& self, const Expr& e) -> void {
    const auto* inner = std::get_if<ir::Binary>(&e->op);
    if (inner != nullptr && inner->op == b.op) {
      self(self, inner->left);
      return self(self, inner->right);
    }
    const std::string_view sign = b.op == BinaryOp::kAnd ? " & " : " | ";
    list += (list.empty() ? "" : std::string(sign)) + text(e, kUnary);
  };
  add(add, b.left);
  add(add, b.right);
  return parenthesised(std::move(list), outer > 0);
}

std::string ExprEmitter::infix(const ir::Binary& b, int outer) {
  if (avoids_branches_ && ir::is_logical(b.op)) return bitwise(b, outer);
  const OperatorText op = spelling(b.op);
  // Comparisons inside comparisons and && inside || are bracketed for the reader's (and the compiler's) sake.
  const int inner = ir::is_comparison(b.op) ? kSum : b.op == BinaryOp::kOr ? 3 : op.precedence;
  // An integer constant needs no type if the other operand has one.
  const auto whole = [](const Expr& e) {
    const auto* c = std::get_if<ir::Constant>(&e->op);
    return c != nullptr && std::holds_alternative<std::int64_t>(c->value);
  };
  const int after = inner == op.precedence ? inner + 1 : inner;
  if (b.op == BinaryOp::kAdd && whole(b.left) && !whole(b.right)) return infix({b.op, b.right, b.left}, outer);
  const std::string left = whole(b.left) && !whole(b.right) ? subscript(b.left, inner) : text(b.left, inner);
  const std::string right = whole(b.right) ? subscript(b.right, after) : text(b.right, after);
  return parenthesised(fmt::format("{} {} {}", left, op.text, right), op.precedence < outer);
}

std::string ExprEmitter::faults(const ir::SourceRange& place) {
  reports_faults_ = true;
  return faults_ ? faults_(place) : "faults";
}

std::string ExprEmitter::product_of_integers(const ir::Binary& b) {
  const auto factor = [this](const Expr& e) {
    const auto* constant = std::get_if<ir::Constant>(&e->op);
    const auto* c = std::get_if<ir::Cast>(&e->op);
    if (constant != nullptr) {
      const double value = std::get<double>(constant->value);
      return value == std::trunc(value) && std::abs(value) < 1e6 ? fmt::format("{}", value) : "";
    }
    return c != nullptr && c->operand->type == Scalar::kI64 ? text(c->operand) : "";
  };
  const auto* before = std::get_if<ir::Binary>(&b.left->op);
  const bool more = before != nullptr && before->op == BinaryOp::kMul;
  const std::string left = more ? product_of_integers(*before) : factor(b.left);
  const std::string right = factor(b.right);
  if (left.empty() || right.empty()) return "";
  return more ? fmt::format("{}, {})", left.substr(0, left.size() - 1), right)
              : fmt::format("rt::product_of({}, {})", left, right);
}

std::string ExprEmitter::call(std::string_view function, const Expr& a, const Expr& b) {
  return fmt::format("scalar::{}({}, {})", function, text(a), text(b));
}

std::string ExprEmitter::faulty_call(const ir::ExprNode& node, std::string_view function, const Expr& a,
                                     const Expr& b) {
  const std::string left = text(a);
  const std::string right = text(b);
  return fmt::format("scalar::{}({}, {}, {})", function, left, right, faults(node.range));
}

std::string ExprEmitter::binary(const ir::ExprNode& node, const ir::Binary& b, int outer) {
  if (ir::is_comparison(b.op) || ir::is_logical(b.op)) return infix(b, outer);
  // An operand may be an int, as `&&` without branches is.
  if (ir::is_bitwise(b.op) && node.type == Scalar::kBool)
    return call(fmt::format("{}<bool>", ir::name_of(b.op)), b.left, b.right);
  if (b.op == BinaryOp::kMin || b.op == BinaryOp::kMax || b.op == BinaryOp::kCopysign || b.op == BinaryOp::kComplex ||
      ir::is_boundary(b.op) || ir::is_bitwise(b.op))
    return call(ir::name_of(b.op), b.left, b.right);
  if (ir::is_library_function(b.op)) {
    calls_library_ = true;
    return fmt::format("{}::{}({}, {})", both_branches_ ? "math" : "scalar", ir::name_of(b.op), text(b.left),
                       text(b.right));
  }
  if (!ir::is_float(node.type)) return integer_binary(node, b, outer);
  if (b.op == BinaryOp::kRem) return call("remainder", b.left, b.right);
  if (b.op == BinaryOp::kMod) return call("mod", b.left, b.right);
  if (b.op == BinaryOp::kAbsentMul) return call("absent_multiply", b.left, b.right);
  if (b.op == BinaryOp::kMutualMul) return call("mutual_multiply", b.left, b.right);
  if (b.op == BinaryOp::kAbsentDiv) return call("absent_divide", b.left, b.right);
  if (b.op == BinaryOp::kMul && element_ == nullptr && node.type == Scalar::kF64) {
    if (std::string product = product_of_integers(b); !product.empty()) return product;
  }
  if (b.op != BinaryOp::kPow) return infix(b, outer);
  // Not in host arithmetic, which is compiled without optimization: there the bits of the library's power differ from
  // those of the product.
  if (element_ != nullptr && is_two(b.right)) return square(b.left, outer);
  std::string exponent = text(b.right);
  if (!ir::is_float(b.right->type) && ir::is_real(node.type))
    exponent = fmt::format("static_cast<{}>({})", cpp_type(node.type), exponent);
  return fmt::format("scalar::power({}, {})", text(b.left), exponent);
}

std::string ExprEmitter::square(const Expr& e, int outer) {
  // A short expression is written twice.
  constexpr int kShort = 3;
  int parts = 0;
  const auto count = [&](const auto& self, const Expr& part) -> void {
    const bool arithmetic =
        std::holds_alternative<ir::Binary>(part->op) || std::holds_alternative<ir::Read>(part->op) ||
        std::holds_alternative<ir::IndexRef>(part->op) || std::holds_alternative<ir::Constant>(part->op);
    parts += arithmetic ? 1 : kShort + 1;
    if (std::holds_alternative<ir::Binary>(part->op)) {
      for (const Expr& inner : ir::children(*part)) self(self, inner);
    }
  };
  count(count, e);
  if (parts > kShort || !ir::is_float(e->type)) return fmt::format("scalar::square({})", text(e));
  return parenthesised(fmt::format("{} * {}", text(e, kProduct), text(e, kProduct + 1)), outer > kProduct);
}

std::string ExprEmitter::quotient(const ir::ExprNode& node, const ir::Binary& b, int outer) {
  if (node.type == Scalar::kI64 || node.type == Scalar::kI32) return infix(b, outer);
  // Of shorter types it is an int.
  return fmt::format("static_cast<{}>({})", cpp_type(node.type), infix(b, 0));
}

std::string ExprEmitter::integer_binary(const ir::ExprNode& node, const ir::Binary& b, int outer) {
  switch (b.op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
      if (node.type == Scalar::kI64 && is_safe_ && is_safe_(node)) return infix(b, outer);
      return call(b.op == BinaryOp::kAdd ? "add" : b.op == BinaryOp::kSub ? "subtract" : "multiply", b.left, b.right);
    case BinaryOp::kDiv:
      return harmless_divisor(b.right) ? quotient(node, b, outer) : faulty_call(node, "divide", b.left, b.right);
    case BinaryOp::kAbsentDiv: return faulty_call(node, "absent_divide", b.left, b.right);
    case BinaryOp::kRem:
      return harmless_divisor(b.right) ? quotient(node, b, outer) : faulty_call(node, "remainder", b.left, b.right);
    case BinaryOp::kMod:
      return harmless_divisor(b.right) ? call("mod", b.left, b.right) : faulty_call(node, "mod", b.left, b.right);
    default:
      if (element_ != nullptr && is_two(b.right)) return square(b.left, outer);
      return faulty_call(node, "power", b.left, b.right);
  }
}

std::string ExprEmitter::cast(const ir::ExprNode& node, const ir::Cast& c) {
  const std::string_view to = cpp_type(node.type);
  if (node.type == Scalar::kBool) return fmt::format("scalar::cast<bool>({})", text(c.operand));
  if (ir::is_integer(node.type) && ir::is_float(c.operand->type)) {
    const std::string operand = text(c.operand);
    return fmt::format("scalar::cast<{}>({}, {})", to, operand, faults(node.range));
  }
  return fmt::format("static_cast<{}>({})", to, text(c.operand));
}

std::string ExprEmitter::subscript(const Expr& e, int outer) {
  if (const auto* c = std::get_if<ir::Constant>(&e->op)) {
    const std::int64_t value = std::get<std::int64_t>(c->value);
    if (e->type == Scalar::kU64) return cpp_constant(e->type, c->value);
    const auto [sign, magnitude] = sign_and_magnitude(value);
    return parenthesised(sign + magnitude, !sign.empty() && outer > 0);
  }
  if (const auto* u = std::get_if<ir::Unary>(&e->op); u != nullptr && u->op == ir::UnaryOp::kNeg) {
    return parenthesised("-" + subscript(u->operand, kUnary + 1), outer > kUnary);
  }
  const auto* b = std::get_if<ir::Binary>(&e->op);
  const bool plain =
      b != nullptr && (b->op == BinaryOp::kAdd || b->op == BinaryOp::kSub || b->op == BinaryOp::kMul ||
                       ((b->op == BinaryOp::kDiv || b->op == BinaryOp::kRem) && harmless_divisor(b->right)));
  if (!plain) return text(e, outer);
  if (b->op == BinaryOp::kAdd && std::holds_alternative<ir::Constant>(b->left->op) &&
      !std::holds_alternative<ir::Constant>(b->right->op))
    return subscript(ir::binary(b->op, b->right, b->left), outer);
  const OperatorText op = spelling(b->op);
  return parenthesised(
      fmt::format("{} {} {}", subscript(b->left, op.precedence), op.text, subscript(b->right, op.precedence + 1)),
      op.precedence < outer);
}

std::string ExprEmitter::text(const Extent& e, int outer) {
  if (const auto c = e.constant()) {
    const auto [sign, magnitude] = sign_and_magnitude(*c);
    return parenthesised(sign + magnitude, !sign.empty() && outer > 0);
  }
  std::size_t terms = 0;
  std::string result = polynomial(e, false, terms);
  const bool product = terms == 1 && !result.starts_with('-');
  const bool single = product && e.as_value().has_value();
  return parenthesised(std::move(result), !single && outer > (product ? kProduct : kSum));
}

std::string ExprEmitter::exact(const Extent& e) {
  if (e.constant() || e.as_value()) return text(e);
  std::size_t terms = 0;
  return polynomial(e, true, terms);
}

std::string ExprEmitter::atom(const Extent::Atom& atom) {
  if (atom.kind == Extent::Atom::Kind::kValue) return host_(atom.value);
  const bool quotient = atom.kind == Extent::Atom::Kind::kQuotient;
  const auto divisor = atom.denominator.constant();
  if (divisor && *divisor != 0) {
    return fmt::format("({} {} {})", text(atom.numerator, kProduct), quotient ? "/" : "%",
                       text(atom.denominator, kProduct + 1));
  }
  return fmt::format("scalar::{}<Index>({}, {}, {})", quotient ? "divide" : "remainder", text(atom.numerator),
                     text(atom.denominator), faults({}));
}

std::string ExprEmitter::polynomial(const Extent& e, bool exact, std::size_t& terms) {
  std::string result;
  const auto term = [&](const Extent::Monomial& monomial, std::int64_t coefficient) {
    const auto [sign, magnitude] = sign_and_magnitude(coefficient);
    std::vector<std::string> factors;
    if (monomial.empty() || magnitude != "1") factors.push_back(magnitude);
    for (const Extent::AtomRef& a : monomial) factors.push_back(atom(*a));
    // The first factor makes a product exact; a sum is if one of its terms is.
    if (exact && !monomial.empty()) factors.front() = "rt::Exact{" + factors.front() + "}";
    const std::string product = fmt::format("{}", fmt::join(factors, " * "));
    result += terms == 0 ? sign + product : sign.empty() ? " + " + product : " - " + product;
    ++terms;
  };
  // Positive terms first, the constant last: `n - 1` reads better than `-1 + n`.
  for (const bool positive : {true, false}) {
    for (const auto& [monomial, coefficient] : e.terms()) {
      if (!monomial.empty() && (coefficient > 0) == positive) term(monomial, coefficient);
    }
  }
  for (const auto& [monomial, coefficient] : e.terms()) {
    if (monomial.empty()) term(monomial, coefficient);
  }
  return result;
}

}  // namespace tdsl::codegen
