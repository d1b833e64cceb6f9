#include "codegen/operations/program.h"

#include <doctest/doctest.h>

#include "tests/unit/codegen/programs.h"

using namespace tdsl::codegen;
using namespace tdsl::codegen::testing;
namespace ir = tdsl::ir;
namespace plan = tdsl::plan;

namespace {

const RecordedOp& only_op(const OperationProgram& p) {
  const auto ops = operations(p);
  REQUIRE(ops.size() == 1);
  return *ops.front()->op;
}

}  // namespace

TEST_CASE("operation program: a sum of products is a contraction, in either order of its factors") {
  for (const char* body : {"mul(%2[i, k], %3[k, j])", "mul(%3[k, j], %2[i, k])"}) {
    const OperationProgram p =
        lowered(std::string("%5:f64[%0, %0] \"C\" = compute [i in 0..%0, j in 0..%0] sum[k in 0..%1] (") + body +
                ")\noutput \"C\" %5\n");
    const RecordedOp& op = only_op(p);
    CHECK(op.op_class == plan::OpClass::kContraction);
    CHECK(op.reads.size() == 2);
    CHECK(op.combine == plan::Combine::kSum);
    CHECK(op.flops_per_point == 2);
  }
}

TEST_CASE("operation program: inner products, guards and other monoids are not contractions") {
  for (const char* body :
       {"%5:f64[%0] \"r\" = compute [i in 0..%0] sum[k in 0..%1] (mul(%2[i, k], %3[k, i]))\noutput \"r\" %5\n",
        "%5:f64[%0, %0] \"r\" = compute [i in 0..%0, j in 0..%0] max[k in 0..%1] (mul(%2[i, k], %3[k, j]))\noutput "
        "\"r\" %5\n",
        "%5:f64[%0, %0] \"r\" = compute [i in 0..%0, j in 0..%0] sum[k in 0..%1] (mul(%2[i, k], %3[k, j])) where lt(k, "
        "i)\noutput \"r\" %5\n"}) {
    CHECK(only_op(lowered(body)).op_class == plan::OpClass::kReduce);
  }
}

TEST_CASE("operation program: neighbouring reads become one access, far ones stay apart") {
  const OperationProgram p = lowered(
      "%5:f64[%0 - 2] \"s\" = compute [i in 1..(%0 - 1)] (add(%4[sub(i, 1)], add(%4[i], %4[add(i, 1)])))\noutput \"s\" "
      "%5\n");
  const RecordedOp& op = only_op(p);
  REQUIRE(op.reads.size() == 1);
  CHECK(op.reads[0].dims[0].offset.lo == Extent(-1));
  CHECK(op.reads[0].dims[0].offset.hi == Extent(2));
  const OperationProgram far =
      lowered("%5:f64[2] \"s\" = compute [i in 0..2] (add(%4[i], %4[add(i, 1000)]))\noutput \"s\" %5\n");
  CHECK(only_op(far).reads.size() == 2);
}

TEST_CASE("operation program: subscripts are checked before the run unless they are provably inside") {
  CHECK(count_steps<SubscriptStep>(
            lowered("%5:f64[%0] \"s\" = compute [i in 0..%0] (%4[i])\noutput \"s\" %5\n").steps) == 0);
  CHECK(count_steps<SubscriptStep>(
            lowered("%5:f64[%0] \"s\" = compute [i in 0..%0] (%4[add(i, 1)])\noutput \"s\" %5\n").steps) == 1);
  const OperationProgram guarded =
      lowered("%5:f64[%0] \"s\" = compute [i in 0..%0] (select(gt(i, 0), %4[sub(i, 1)], 0.0))\noutput \"s\" %5\n");
  CHECK(count_steps<SubscriptStep>(guarded.steps) == 0);
  // The condition implies that this read is in bounds, but not others.
  CHECK(operations(guarded).front()->kernel->checked.empty());
  CHECK(operations(guarded).front()->kernel->trusted.size() == 1);
  for (const char* other : {"select(gt(i, 0), %4[add(i, 1)], 0.0)", "select(ge(i, 0), %4[sub(i, 1)], 0.0)",
                            "select(gt(i, 0), 0.0, %4[sub(i, 1)])", "select(lt(add(i, %1), %0), %4[add(i, %1)], 0.0)",
                            "select(lt(add(i, 4294967297), %0), %4[add(i, 4294967297)], 0.0)"}) {
    INFO(other);
    const OperationProgram unknown =
        lowered(std::string("%5:f64[%0] \"s\" = compute [i in 0..%0] (") + other + ")\noutput \"s\" %5\n");
    CHECK(operations(unknown).front()->kernel->checked.size() == 1);
  }
}

TEST_CASE(
    "operation program: a gather meets its operand panel by panel; under a condition it reads the whole and says so") {
  const OperationProgram p = lowered(
      "%5:i64[%0] \"q\" = compute [i in 0..%0] (i)\n%6:f64[%0] \"g\" = compute [i in 0..%0] (%4[%5[i]])\noutput \"g\" "
      "%6\n");
  const auto ops = operations(p);
  REQUIRE(ops.size() == 2);
  CHECK(p.warnings.empty());
  REQUIRE(ops[1]->op->labels.size() == 2);
  CHECK(ops[1]->op->role_of(1) == plan::LabelRole::kGather);
  const SymbolicAccess& gathered = ops[1]->op->reads.back();
  REQUIRE(gathered.dims[0].terms.size() == 1);
  CHECK(gathered.dims[0].terms[0].label == 1);
  const OperationProgram hidden = lowered(
      "%5:i64[%0] \"q\" = compute [i in 0..%0] (i)\n%6:f64[%0] \"g\" = compute [i in 0..%0] (select(gt(i, 2), "
      "%4[%5[i]], 0.0))\n"
      "output \"g\" %6\n");
  CHECK(operations(hidden)[1]->op->reads.back().dims[0].whole);
  // The amount is known at start.
  CHECK(hidden.warnings.empty());
  CHECK(count_steps<GathersStep>(hidden.steps) == 1);
}

TEST_CASE("operation program: host values need no control read, data does, once per iteration") {
  const OperationProgram p = lowered(
      "%5:i64 \"zero\" = compute [] (0)\n"
      "%6:f64 \"s\" = compute [] sum[i in 0..%0] (%4[i])\n"
      "%7:f64 \"r\", %8:i64 \"it\" = while with (%6, %5) do (%9:f64 \"r\", %10:i64 \"it\") {\n"
      "  %11:bool = compute [] (gt(%9, 1.0))\n  yield %11\n"
      "} do (%12:i64, %13:f64 \"r\", %14:i64 \"it\") {\n"
      "  %15:f64 \"r\" = compute [] (mul(%13, 0.5))\n  %16:i64 \"it\" = compute [] (add(%14, 1))\n  yield %15, %16\n}\n"
      "output \"r\" %7\nprint %8\n");
  CHECK(count_steps<ControlReadStep>(p.steps) == 1);
  // The host compares the value that it has read.
  for (const OperationStep* o : operations(p)) CHECK(o->kernel->type == ir::Scalar::kF64);
  CHECK(p.is_host(ValueId{14}));
  CHECK_FALSE(p.is_host(ValueId{13}));
}

TEST_CASE("operation program: a reduction that is combined differently takes two operations") {
  const OperationProgram p = lowered(
      "%5:f64[%0] \"y\" = compute [i in 0..%0] max[k in 0..%1] (%2[i, k]) left [i] base %4 combine sum\noutput \"y\" "
      "%5\n");
  const auto ops = operations(p);
  REQUIRE(ops.size() == 2);
  CHECK(ops[0]->op->combine == plan::Combine::kMax);
  CHECK(ops[1]->op->has_base());
  const OperationProgram same = lowered(
      "%5:f64[%0] \"y\" = compute [i in 0..%0] sum[k in 0..%1] (%2[i, k]) left [i] base %4 combine sum\noutput \"y\" "
      "%5\n");
  CHECK(only_op(same).has_base());
}

TEST_CASE("operation program: argmin becomes reductions that may be split") {
  const OperationProgram p =
      lowered("%5:i64[%0] \"a\" = compute [i in 0..%0] argmin[k in 0..%1] (%2[i, k])\noutput \"a\" %5\n");
  for (const OperationStep* o : operations(p)) {
    if (o->op->op_class == plan::OpClass::kReduce) CHECK(o->op->combine == plan::Combine::kMin);
  }
  CHECK(operations(p).size() == 3);
}

TEST_CASE("operation program: a ring on the left moves to the right and splits into two affine reads") {
  const OperationProgram p =
      lowered("%5:f64[%0] \"y\" = compute [i in 0..%0] (%4[i]) left [rem(add(i, 1), %0)]\noutput \"y\" %5\n");
  const RecordedOp& op = only_op(p);
  CHECK(operations(p).front()->kernel->compute.left.empty());
  REQUIRE(op.reads.size() == 2);
  for (const SymbolicAccess& read : op.reads) CHECK_FALSE(read.dims[0].whole);
  CHECK(operations(p).front()->kernel->checked.empty());
}

TEST_CASE("operation program: a scatter is a reduction that may write anywhere") {
  const OperationProgram p = lowered(
      "%5:i64[%0] \"bin\" = compute [i in 0..%0] (rem(i, 7))\n"
      "%6:f64[7] \"h\" = compute [i in 0..%0] (%4[i]) left [%5[i]] combine sum\noutput \"h\" %6\n");
  const auto ops = operations(p);
  REQUIRE(ops.size() == 2);
  CHECK(ops[1]->op->op_class == plan::OpClass::kReduce);
  CHECK(ops[1]->op->combine == plan::Combine::kSum);
  CHECK(ops[1]->op->out[0].label == plan::kAnyLabel);
  CHECK(ops[1]->op->role_of(0) == plan::LabelRole::kReduce);
}

TEST_CASE("operation program: a reshape reads intervals of rows") {
  const OperationProgram p =
      lowered("%5:f64[%0*%1] \"y\" = compute [i in 0..%0*%1] (%2[div(i, %1), rem(i, %1)])\noutput \"y\" %5\n");
  const SymbolicAccess& read = only_op(p).reads.front();
  CHECK(p.warnings.empty());
  CHECK_FALSE(read.dims[0].whole);
  CHECK(read.dims[0].divisor == Extent::of(ValueId{1}));
  CHECK(read.dims[1].whole);
}

TEST_CASE("operation program: every tensor is released once after its last use") {
  const OperationProgram p = lowered(
      "%5:f64[%0] \"y\" = compute [i in 0..%0] (exp(%4[i]))\n%6:f64[%0] \"z\" = compute [i in 0..%0] "
      "(neg(%5[i]))\noutput \"z\" %6\n");
  CHECK(count_steps<ReleaseStep>(p.steps) == 5);  // A and B, which are never read, x, y and z
}
