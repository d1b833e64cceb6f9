#include "ir/analysis/support.h"

#include <cmath>
#include <limits>
#include <random>

#include "ir/eval/eval.h"
#include "passes/passes.h"
#include "tests/unit/ir/eval_support.h"

using namespace tdsl::ir;
using namespace tdsl::tests;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
const std::vector<double> kValues = {0, -0.0, 1, -2, kInf, kNan};

/// A and B: sparse vectors, D: a dense one; f(i) reads them at label 0.
struct Setting {
  Program program;
  ValueId a, b, d;

  Setting() {
    program.name = "test";
    const Extent n = static_cast<std::int64_t>(kValues.size() * kValues.size() * kValues.size());
    const auto input = [&](const std::string& name, bool sparse) {
      const Format format{{sparse ? Format::Level::kSparse : Format::Level::kDense}};
      const ValueId v = program.new_value({Scalar::kF64, {n}, format}, name, {});
      program.body.nodes.push_back({{}, {v}, Input{name}});
      return v;
    };
    a = input("A", true);
    b = input("B", true);
    d = input("D", false);
  }
  [[nodiscard]] Expr at(ValueId v) const { return read(Scalar::kF64, v, {index_ref(0)}); }
  [[nodiscard]] Compute compute(const Expr& body) const {
    Compute c;
    c.out = {{"i", 0, program.type(a).shape[0]}};
    c.bodies = {body};
    return c;
  }
};

/// Text of an expression's support; 0 is A, 1 is B, in any order of occurrence.
std::string support(const Setting& s, const Expr& e) {
  SupportFinder finder(s.program, Products::kImplied);
  const Support found = finder.of(e);
  return text_of(found, [&](int k) {
    const Expr& r = finder.reads()[static_cast<std::size_t>(k)];
    const auto* element = std::get_if<Read>(&r->op);
    return std::string(element == nullptr ? "value" : element->tensor == s.a ? "A" : "B");
  });
}

Expr number(double x) { return constant(Scalar::kF64, x); }

Inputs all_triples() {
  std::vector<double> a, b, d;
  for (const double x : kValues) {
    for (const double y : kValues) {
      for (const double z : kValues) {
        // Sparse tensors never contain -0.
        a.push_back(x + 0.0);
        b.push_back(y + 0.0);
        d.push_back(z);
      }
    }
  }
  const auto n = static_cast<std::int64_t>(a.size());
  return {{"A", floats({n}, a)}, {"B", floats({n}, b)}, {"D", floats({n}, d)}};
}

Array value_of(const Setting& s, const std::vector<Compute>& computes, const std::vector<Type>& types, Program program,
               const Inputs& inputs) {
  for (std::size_t k = 0; k < computes.size(); ++k)
    program.body.nodes.push_back({{}, {program.new_value(types[k], "", {})}, computes[k]});
  const ValueId last = program.body.nodes.back().results[0];
  program.body.nodes.push_back({{}, {}, Output{"y", last}});
  tdsl::passes::PassContext context;
  program = tdsl::passes::absence(program, context);
  static_cast<void>(s);
  EvalOptions options;
  options.input = [&](const std::string& name, Scalar) { return inputs.at(name); };
  return evaluate(program, options).outputs.at("y");
}

Array value_of(const Setting& s, const Expr& e, const Inputs& inputs) {
  return value_of(s, {s.compute(e)}, {{e->type, s.program.type(s.a).shape, {}}}, s.program, inputs);
}

double element(const Array& a, std::size_t k) {
  return is_float(a.type) ? a.floats[k] : static_cast<double>(a.integers[k]);
}

bool same(double x, double y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

constexpr UnaryOp kFloatFunctions[] = {
    UnaryOp::kNeg,     UnaryOp::kAbs,     UnaryOp::kSqrt,   UnaryOp::kExp,   UnaryOp::kLog,   UnaryOp::kLog1p,
    UnaryOp::kExpm1,   UnaryOp::kSin,     UnaryOp::kCos,    UnaryOp::kTan,   UnaryOp::kTanh,  UnaryOp::kErf,
    UnaryOp::kFloor,   UnaryOp::kCeil,    UnaryOp::kRound,  UnaryOp::kSign,  UnaryOp::kIsNan, UnaryOp::kIsInf,
    UnaryOp::kSigmoid, UnaryOp::kRelu,    UnaryOp::kSparse, UnaryOp::kDense, UnaryOp::kAsin,  UnaryOp::kAcos,
    UnaryOp::kAtan,    UnaryOp::kSinh,    UnaryOp::kCosh,   UnaryOp::kAsinh, UnaryOp::kAcosh, UnaryOp::kAtanh,
    UnaryOp::kCbrt,    UnaryOp::kLog2,    UnaryOp::kLog10,  UnaryOp::kExp2,  UnaryOp::kErfc,  UnaryOp::kGamma,
    UnaryOp::kLgamma,  UnaryOp::kDigamma, UnaryOp::kTrunc};
constexpr BinaryOp kFloatOperators[] = {
    BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul, BinaryOp::kDiv,   BinaryOp::kRem,   BinaryOp::kPow,
    BinaryOp::kMod, BinaryOp::kMin, BinaryOp::kMax, BinaryOp::kEq,    BinaryOp::kNe,    BinaryOp::kLt,
    BinaryOp::kLe,  BinaryOp::kGt,  BinaryOp::kGe,  BinaryOp::kAtan2, BinaryOp::kHypot, BinaryOp::kCopysign};

/// Calls `f` with every operator over floats or bools from the two lists.
void each_over(const std::vector<Expr>& left, const std::vector<Expr>& right,
               const std::function<void(const Expr&)>& f) {
  for (const Expr& x : left) {
    for (const Expr& y : right) {
      if (x->type == Scalar::kF64 && y->type == Scalar::kF64) {
        for (const BinaryOp op : kFloatOperators) f(binary(op, x, y));
      } else if (x->type == Scalar::kBool && y->type == Scalar::kBool) {
        f(binary(BinaryOp::kAnd, x, y));
        f(binary(BinaryOp::kOr, x, y));
      } else if (x->type == Scalar::kBool) {
        f(select(x, y, number(0.0)));
        f(select(x, number(0.0), y));
        f(binary(BinaryOp::kMul, cast(Scalar::kF64, x), y));
      }
    }
  }
}

void each_unary(const std::vector<Expr>& operands, const std::function<void(const Expr&)>& f) {
  for (const Expr& x : operands) {
    if (x->type == Scalar::kBool) {
      f(unary(UnaryOp::kNot, x));
      f(cast(Scalar::kF64, x));
      continue;
    }
    for (const UnaryOp op : kFloatFunctions) f(unary(op, x));
  }
}

class Checker {
 public:
  /// Checks that the value is 0 wherever the support is false.
  void zero_outside_support(const Expr& e) {
    SupportFinder finder(setting_.program, Products::kImplied);
    const Support s = finder.of(e);
    if (s.kind == Support::Kind::kAlways) return;
    const Array value = value_of(setting_, e, inputs_);
    for (std::size_t k = 0; k < static_cast<std::size_t>(value.size()); ++k) {
      std::vector<bool> present;
      for (const Expr& r : finder.reads()) {
        const auto* element_read = std::get_if<Read>(&r->op);
        present.push_back(element_read == nullptr ||
                          inputs_.at(element_read->tensor == setting_.a ? "A" : "B").floats[k] != 0);
      }
      if (!holds(s, present) && element(value, k) != 0) {
        ++failures_;
        MESSAGE(print_of(e) << " is " << element(value, k) << " outside of its support at point " << k);
      }
    }
    ++checked_;
  }

  /// Checks that naming an operand does not change its meaning. (-0 is stored as 0, so such operands are skipped.)
  void named_operand(const Expr& whole, const Expr& part) {
    Compute inner = setting_.compute(part);
    Type type{part->type, setting_.program.type(setting_.a).shape, {}};
    type.format = inferred_format(setting_.program, inner, Products::kImplied);
    Program program = setting_.program;
    const ValueId name{static_cast<std::int32_t>(program.values.size())};
    const Expr outer =
        rewrite(whole, [&](const Expr& e) { return equal(e, part) ? read(part->type, name, {index_ref(0)}) : e; });
    const Array direct = value_of(setting_, whole, inputs_);
    const Array named =
        value_of(setting_, {inner, setting_.compute(outer)}, {type, {whole->type, type.shape, {}}}, program, inputs_);
    const Array stored = value_of(setting_, part, inputs_);
    for (std::size_t k = 0; k < static_cast<std::size_t>(direct.size()); ++k) {
      const bool minus_zero = is_float(part->type) && stored.floats[k] == 0 && std::signbit(stored.floats[k]);
      if (!minus_zero && !same(element(direct, k), element(named, k))) {
        ++failures_;
        MESSAGE(print_of(whole) << " is " << element(direct, k) << " inline and " << element(named, k)
                                << " through a name at point " << k);
      }
    }
    ++checked_;
  }

  [[nodiscard]] const Setting& setting() const { return setting_; }
  [[nodiscard]] int checked() const { return checked_; }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  [[nodiscard]] std::string print_of(const Expr& e) const {
    Program p = setting_.program;
    p.body.nodes = {{{}, {p.new_value({e->type, p.type(setting_.a).shape, {}}, "", {})}, setting_.compute(e)}};
    return print(p);
  }

  Setting setting_;
  Inputs inputs_ = all_triples();
  int checked_ = 0;
  int failures_ = 0;
};

}  // namespace

TEST_CASE("support: what expressions say of their reads") {
  const Setting s;
  const Expr a = s.at(s.a), b = s.at(s.b), d = s.at(s.d);
  const auto both = [](BinaryOp op, const Expr& x, const Expr& y) { return binary(op, x, y); };
  using enum BinaryOp;
  CHECK(support(s, a) == "A");
  CHECK(support(s, d) == "always");
  CHECK(support(s, both(kMul, a, d)) == "A");
  CHECK(support(s, both(kMul, d, both(kMul, b, a))) == "all(B, A)");
  CHECK(support(s, both(kMul, a, a)) == "A");
  CHECK(support(s, both(kDiv, a, b)) == "A");
  CHECK(support(s, both(kDiv, d, b)) == "always");
  CHECK(support(s, both(kAdd, a, b)) == "any(A, B)");
  CHECK(support(s, both(kAdd, a, d)) == "always");
  CHECK(support(s, both(kMax, a, both(kMul, a, b))) == "A");
  CHECK(support(s, both(kMul, both(kAdd, a, b), a)) == "A");
  // Constants equal to 0 are treated like other constants.
  CHECK(support(s, both(kAdd, a, number(0.0))) == "A");
  CHECK(support(s, both(kMul, d, number(0.0))) == "always");
  CHECK(support(s, both(kMul, a, number(0.0))) == "A");
  CHECK(support(s, both(kNe, a, number(0.0))) == "A");
  CHECK(support(s, both(kGt, a, number(2.0))) == "A");
  CHECK(support(s, both(kGe, a, number(0.0))) == "always");
  CHECK(support(s, both(kLt, a, b)) == "any(A, B)");
  CHECK(support(s, both(kNe, a, d)) == "always");
  CHECK(support(s, both(kAnd, both(kNe, a, number(0.0)), both(kGt, d, number(1.0)))) == "A");
  CHECK(support(s, both(kOr, both(kNe, a, number(0.0)), both(kNe, b, number(0.0)))) == "any(A, B)");
  CHECK(support(s, both(kPow, a, number(2.0))) == "A");
  CHECK(support(s, both(kPow, a, number(-1.0))) == "always");
  CHECK(support(s, select(both(kNe, a, number(0.0)), d, number(0.0))) == "A");
  CHECK(support(s, select(both(kGt, d, number(0.0)), a, b)) == "any(A, B)");
  CHECK(support(s, unary(UnaryOp::kSqrt, a)) == "A");
  CHECK(support(s, unary(UnaryOp::kExp, a)) == "always");
  CHECK(support(s, cast(Scalar::kI64, a)) == "A");
  CHECK(support(s, unary(UnaryOp::kDense, a)) == "always");
  CHECK(support(s, unary(UnaryOp::kSparse, d)) == "value");
  CHECK(support(s, unary(UnaryOp::kSparse, a)) == "A");
}

TEST_CASE("support: a value is 0 where its support is false, and an operand may have a name") {
  Checker checker;
  const Setting& s = checker.setting();
  const std::vector<Expr> leaves = {s.at(s.a),   s.at(s.b),   s.at(s.d),   number(0.0),
                                    number(1.0), number(2.0), number(-1.0)};
  std::vector<Expr> small = leaves;
  const auto keep = [&](const Expr& e) { small.push_back(e); };
  each_unary(leaves, keep);
  each_over(leaves, leaves, keep);
  for (const Expr& e : small) checker.zero_outside_support(e);
  // A sample of the larger ones, a different one each time but reproducible.
  std::mt19937_64 numbers(19);
  const auto chosen = [&](std::uint64_t share) { return numbers() % share == 0; };
  const auto deeper = [&](const Expr& e) {
    if (!chosen(60)) return;
    checker.zero_outside_support(e);
    for (const Expr& part : children(*e)) {
      if (!std::holds_alternative<Constant>(part->op) && !std::holds_alternative<Read>(part->op))
        checker.named_operand(e, part);
    }
  };
  each_unary(small, deeper);
  each_over(small, small, [&](const Expr& e) {
    if (chosen(12)) deeper(e);
  });
  CHECK(checker.checked() > 1000);
  CHECK(checker.failures() == 0);
}

TEST_CASE("support: of computes, explicit products") {
  const auto supports = [](const std::string& compute) {
    const Program program = parse(
        "program \"test\"\n%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, sparse %0] \"A\" = input \"A\"\n%2:f64[%0] \"x\" "
        "= input \"x\"\n%3:f64[%0] = " +
        compute + "\n");
    return text_of(support_of(program, std::get<Compute>(program.body.nodes.back().op)), [](int) { return "A"; });
  };
  CHECK(supports("compute [i in 0..%0] sum[j in 0..%0] (absent_mul(%1[i, j], %2[j]))") == "A");
  CHECK(supports("compute [i in 0..%0] sum[j in 0..%0] (mutual_mul(%1[i, j], %1[i, j]))") == "A");
  CHECK(supports("compute [i in 0..%0] sum[j in 0..%0] (absent_div(%1[i, j], %2[j]))") == "A");
  CHECK(supports("compute [i in 0..%0] sum[j in 0..%0] (mul(%1[i, j], %2[j]))") == "always");
  CHECK(supports("compute [i in 0..%0] min[j in 0..%0] (%1[i, j])") == "always");
  CHECK(supports("compute [i in 0..%0] min[j in 0..%0] (add(%1[i, j], %2[j])) where ne(%1[i, j], 0.0)") == "A");
  CHECK(supports("compute [i in 0..%0] (%1[i, i]) fill 1.0 ") == "always");
  CHECK(supports("compute [i in 0..%0] (%1[i, i]) left [i] base %2") == "always");
  CHECK(supports("compute [i in 0..%0] (%1[i, i]) left [i] base %2 combine sum") == "A");
}

TEST_CASE("support: inferred storage") {
  const auto stored = [](const std::string& compute) {
    const Program program = parse(
        "program \"test\"\n%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, sparse %0] \"A\" = input \"A\"\n%2:f64[%0, "
        "sparse %0] \"B\" = input \"B\"\n"
        "%3:f64[sparse %0, sparse %0] \"C\" = input \"C\"\n%4:f64[%0, %0] \"D\" = input \"D\"\n%5:f64[%0] \"x\" = "
        "input \"x\"\n%6:f64[sparse %0] \"v\" = input \"v\"\n%7:f64 = " +
        compute + "\n");
    std::string text;
    const auto& c = std::get<Compute>(program.body.nodes.back().op);
    for (const Format::Level l : inferred_format(program, c, Products::kImplied).levels)
      text += l == Format::Level::kSparse ? 's' : 'd';
    return text;
  };
  const auto over = [&](const std::string& labels, const std::string& reduced, const std::string& body) {
    const auto ranges = [](const std::string& names) {
      std::string text;
      for (const char c : names) text += (text.empty() ? "" : ", ") + std::string(1, c) + " in 0..%0";
      return text;
    };
    return stored("compute [" + ranges(labels) + "] " + (reduced.empty() ? "" : "sum[" + ranges(reduced) + "] ") + "(" +
                  body + ")");
  };
  CHECK(over("ij", "k", "mul(%1[i, k], %2[k, j])") == "ds");  // A @ B
  CHECK(over("ij", "", "add(%1[i, j], %2[i, j])") == "ds");   // A + B
  CHECK(over("ij", "", "mul(%1[i, j], %4[i, j])") == "ds");   // A * D
  CHECK(over("ij", "k", "mul(%1[k, i], %1[k, j])") == "ss");  // A' @ A
  CHECK(over("ij", "k", "mul(%1[i, k], %1[j, k])") == "ds");  // A @ A'
  CHECK(over("ij", "k", "add(%1[i, k], %1[j, k])").empty());
  CHECK(over("ij", "", "%1[add(i, 2), j]") == "ds");          // A[2:5, :]
  CHECK(over("ij", "", "%1[j, i]") == "sd");                  // A'
  CHECK(over("i", "j", "mul(%1[i, j], %5[j])").empty());      // A @ x
  CHECK(over("j", "i", "mul(%1[i, j], %5[i])").empty());      // A' @ x
  CHECK(over("ij", "k", "mul(%4[i, k], %1[k, j])").empty());  // D @ A
  CHECK(over("ij", "", "add(%1[i, j], %4[i, j])").empty());   // A + D
  CHECK(over("j", "i", "%1[i, j]").empty());                  // sum(A, axis=0)
  CHECK(over("i", "j", "%3[i, j]") == "s");                   // sums of a tensor with both dimensions sparse
  CHECK(over("j", "i", "%3[i, j]") == "s");
  CHECK(over("i", "", "mul(%6[i], %5[i])") == "s");
  CHECK(over("ij", "", "mul(%6[i], %6[j])") == "ss");
  CHECK(over("ij", "", "sparse(%4[i, j])") == "ds");
  CHECK(over("i", "", "sparse(%5[i])") == "s");
  CHECK(over("ij", "", "dense(%1[i, j])").empty());
  CHECK(over("ij", "", "ne(%1[i, j], 0.0)") == "ds");
}
