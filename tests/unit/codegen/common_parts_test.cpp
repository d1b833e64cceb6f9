#include <doctest/doctest.h>

#include "codegen/nest/build.h"
#include "codegen/nest/common_parts.h"
#include "codegen/print/emit_expr.h"
#include "codegen/print/names.h"

using namespace tdsl;
using namespace tdsl::ir;

namespace {

const Scalar kPartType = Scalar::kF64;

Expr part_sum() { return binary(BinaryOp::kAdd, argument(kPartType, 0), constant(kPartType, 1.0)); }
Expr part_times(const Expr& a, const Expr& b) { return binary(BinaryOp::kMul, a, b); }
Expr part_is_positive() { return binary(BinaryOp::kGt, argument(kPartType, 0), constant(kPartType, 0.0)); }

/// The expression as it is emitted.
std::string printed_with_parts(const Expr& e, const codegen::BothBranches& both = nullptr) {
  nest::Nest nest;
  const nest::Named named = nest::named(nest, e, both);
  codegen::NameTable table;
  std::vector<std::string> names;
  for (const nest::Variable& v : nest.variables) names.push_back(table.claim(v.name));
  const auto name = [&](ValueId v) { return names[static_cast<std::size_t>(v.id)]; };
  codegen::ExprEmitter emitter(
      {}, name, [&](const ExprNode& n, const std::vector<std::string>&) { return name(std::get<Read>(n.op).tensor); });
  emitter.set_arguments(std::vector<std::string>{"x"});
  std::string text;
  for (const nest::Let& let : named.lets)
    text += "const double " + name(let.local) + " = " + emitter.text(let.value) + "; ";
  return text + emitter.text(named.value);
}

}  // namespace

TEST_CASE("common parts: a repeated expression gets a name, inner parts first") {
  CHECK(printed_with_parts(part_times(part_sum(), part_sum())) == "const double term = x + 1.0; term * term");
  const Expr square = part_times(part_sum(), part_sum());
  CHECK(printed_with_parts(binary(BinaryOp::kDiv, square, binary(BinaryOp::kAdd, square, part_sum()))) ==
        "const double term = x + 1.0; const double term_2 = term * term; term_2 / (term_2 + term)");
  CHECK(printed_with_parts(part_times(argument(kPartType, 0), argument(kPartType, 0))) == "x * x");
}

TEST_CASE("common parts: what only one branch computes stays there") {
  const Expr zero = constant(kPartType, 0.0);
  const Expr square = part_times(part_sum(), part_sum());
  CHECK(printed_with_parts(select(part_is_positive(), square, zero)) == "x > 0.0 ? (x + 1.0) * (x + 1.0) : 0.0");
  CHECK(printed_with_parts(select(part_is_positive(), part_sum(), part_times(part_sum(), argument(kPartType, 0)))) ==
        "const double term = x + 1.0; x > 0.0 ? term : term * x");
  CHECK(printed_with_parts(select(part_is_positive(), square, zero), [](const Select&) {
          return true;
        }).starts_with("const double term = x + 1.0; "));
}

TEST_CASE("common parts: what may stop the run stays where it is") {
  const Expr quotient = binary(BinaryOp::kDiv, argument(Scalar::kI64, 0), argument(Scalar::kI64, 0));
  CHECK(codegen::common_parts(binary(BinaryOp::kAdd, quotient, quotient), nullptr).empty());
}
