#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "codegen/loops/build_nest.h"
#include "codegen/lower/program.h"
#include "codegen/nest/facts.h"
#include "codegen/nest/interior.h"
#include "codegen/nest/interpret.h"
#include "codegen/nest/text.h"
#include "codegen/nest/verify.h"
#include "codegen/operations/describe.h"
#include "codegen/walk/host_evaluator.h"
#include "frontend/frontend.h"
#include "ir/eval/expr.h"
#include "ir/eval/procedure.h"
#include "tests/unit/nest_runner.h"
#include "tests/unit/passes/support.h"

// Loop nests: tests/nests/*.nest, and the kernels of random Computes, compared with the evaluator.

namespace {

using namespace tdsl;
using tests::nest_agrees;
using tests::nest_lines;
using tests::NestParts;
using tests::NestRunner;
namespace nest_files = std::filesystem;

// --- Files. Lines `// …` before the nest give its inputs and expected results:
//   // error: SENTENCE           the verifier's messages, in order; otherwise
//   // %0 = 3                    a scalar input
//   // operand 0 = [2, 3] 1 2 …  an operand; `base = …`: the initial contents of the result
//   // result = 6 20 42          its elements, or `stops = MESSAGE`; for a task, `base 0 = …` and `result 0 = …`

struct NestCase {
  std::string text;
  std::vector<std::string> errors;
  std::map<std::string, std::string> given;
};

NestCase nest_case(const nest_files::path& path) {
  NestCase c;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("// ")) {
      c.text += line + "\n";
    } else if (line.starts_with("// error: ")) {
      c.errors.push_back(line.substr(std::string("// error: ").size()));
    } else if (const std::size_t at = line.find(" = "); at != std::string::npos) {
      c.given[line.substr(3, at - 3)] = line.substr(at + 3);
    }
  }
  return c;
}

std::vector<double> nest_numbers(const std::string& text) {
  std::istringstream stream(text);
  std::vector<double> numbers;
  for (std::string word; stream >> word;) numbers.push_back(std::stod(word));
  return numbers;
}

/// `[2, 2] 1 2 3 4`
ir::Array nest_array(ir::Scalar type, const std::string& text) {
  ir::Array a;
  a.type = type;
  const std::size_t end = text.find(']');
  std::string shape = text.substr(1, end - 1);
  std::ranges::replace(shape, ',', ' ');
  for (const double extent : nest_numbers(shape)) a.shape.push_back(static_cast<std::int64_t>(extent));
  a.floats = nest_numbers(text.substr(end + 1));
  if (ir::is_float(type)) return a;
  for (const double x : a.floats) a.integers.push_back(static_cast<std::int64_t>(x));
  a.floats.clear();
  return a;
}

nest::Inputs inputs_of(const NestCase& c, const nest::Nest& n) {
  nest::Inputs inputs;
  for (std::size_t k = 0; k < n.variables.size(); ++k) {
    const nest::Variable& v = n.variables[k];
    if (v.role == nest::Variable::Role::kCapture || v.role == nest::Variable::Role::kParameter) {
      const double value = std::stod(c.given.at("%" + std::to_string(k)));
      inputs.captures[{static_cast<std::int32_t>(k)}] =
          ir::is_float(v.type.scalar) ? ir::Literal(value) : ir::Literal(static_cast<std::int64_t>(value));
    }
    if (v.role == nest::Variable::Role::kOperand)
      inputs.operands[v.number] = nest_array(v.type.scalar, c.given.at("operand " + std::to_string(v.number)));
    if (v.continued && n.form == nest::Form::kTask)
      inputs.bases[v.number] = nest_array(v.type.scalar, c.given.at("base " + std::to_string(v.number)));
    if (v.continued && n.form != nest::Form::kTask) inputs.base = nest_array(v.type.scalar, c.given.at("base"));
  }
  return inputs;
}

void run_nest_case(const nest_files::path& path) {
  INFO(path.string());
  const NestCase c = nest_case(path);
  const nest::Nest n = nest::parse(c.text);
  CHECK(nest::print(n) == c.text);
  CHECK(nest_lines(nest::verify(n)) == nest_lines(c.errors));
  if (!c.errors.empty()) return;
  try {
    if (n.form == nest::Form::kTask) {
      for (const auto& [number, result] : nest::interpret_task(n, inputs_of(c, n)))
        CHECK(result.floats == nest_numbers(c.given.at("result " + std::to_string(number))));
      return;
    }
    const ir::Array result = nest::interpret(n, inputs_of(c, n));
    CHECK(result.floats == nest_numbers(c.given.at("result")));
  } catch (const ir::eval::Stop& stop) { CHECK(stop.error.message == c.given.at("stops")); }
}

// --- Random Computes

/// Writes a program of one Compute over matrices A (n x m), B (m x n) and vectors x, p (n).
class ComputeWriter {
 public:
  explicit ComputeWriter(std::uint64_t seed) : random_(seed) {}

  std::string program() {
    const std::string head =
        "program \"p\"\n%0:i64 \"n\" = dimension \"n\"\n%1:i64 \"m\" = dimension \"m\"\n%2:f64[%0, %1] \"A\" = input "
        "\"A\"\n"
        "%3:f64[%1, %0] \"B\" = input \"B\"\n%4:f64[%0] \"x\" = input \"x\"\n%5:i64[%0] \"p\" = input \"p\"\n";
    const int shape = pick(4);
    const bool reduces = shape > 0 && pick(4) > 0;
    std::string type, out, reduce;
    if (shape == 0) type = "[%0, %1]", out = "i in 0..%0, j in 0..%1";
    if (shape == 1) type = "[%0, %0]", out = "i in 0..%0, k in 0..%0", reduce = "j in 0..%1";
    if (shape == 2) type = "[%0]", out = "i in 0..%0", reduce = "j in 0..%1, k in 0..%0";
    if (shape == 3) type = "[%1]", out = "j in 0..%1", reduce = "i in 0..%0";
    has_k_ = (shape == 1) || (shape == 2 && reduces);
    has_j_ = shape != 1 && shape != 2 ? true : reduces;
    has_i_ = shape != 3 || reduces;
    std::string text = "%6:f64" + type + " \"y\" = compute [" + out + "]";
    if (reduces) text += " " + monoid() + "[" + reduce + "]";
    // A plain product of two operands would be a contraction.
    text += " (" + (reduces ? "add(" + value(3) + ", 0.5)" : value(3)) + ")";
    const bool guarded = pick(3) == 0;
    if (guarded) text += " where " + guard();
    if (shape == 3 && !guarded && pick(2) == 0) {
      text += " left [j]";
    } else if (shape == 2 && !reduces && pick(2) == 0) {
      text += " left [%5[i]] base %4 combine " + std::string(pick(2) == 0 ? "sum" : "max");
    }
    return head + text + "\noutput \"y\" %6\n";
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  std::string monoid() {
    const std::array<std::string, 7> monoids = {
        "sum", "sum", "sum", "prod", "min", "max", "user(\"most\", -inf, select(gt($0:f64, $1:f64), $0:f64, $1:f64))"};
    return monoids[static_cast<std::size_t>(pick(7))];
  }
  /// A label of a dimension n.
  std::string row() { return has_i_ && (!has_k_ || pick(2) == 0) ? "i" : has_k_ ? "k" : "0"; }
  std::string column() { return has_j_ ? "j" : "0"; }
  std::string leaf() {
    switch (pick(6)) {
      case 0: return "%2[" + row() + ", " + column() + "]";
      case 1: return "%3[" + column() + ", " + row() + "]";
      case 2: return "%4[" + row() + "]";
      case 3: return pick(3) == 0 ? "%4[%5[" + row() + "]]" : "f64(" + row() + ")";
      case 4: return pick(3) == 0 ? "%4[sub(%0, add(" + row() + ", 1))]" : "1.5";
      default: return "f64(%1)";
    }
  }
  std::string value(int depth) {
    if (depth == 0) return leaf();
    const std::string a = value(depth - 1);
    switch (pick(9)) {
      case 8: return edge(a);
      case 0: return "add(" + a + ", " + value(depth - 1) + ")";
      case 1: return "mul(" + a + ", " + a + ")";
      case 2: return "sub(" + a + ", " + value(depth - 1) + ")";
      case 3: return "max(" + a + ", " + value(depth - 1) + ")";
      case 4: return "select(gt(" + a + ", 0.5), exp(neg(" + a + ")), " + value(depth - 1) + ")";
      case 5: return "f64(mod(i64(" + a + "), 3))";
      default: return a;
    }
  }
  /// A choice between a point's neighbour and another value, by a condition that matters at the ends of a range, or by
  /// an arbitrary comparison.
  std::string edge(const std::string& other) {
    const std::string l = pick(2) == 0 ? row() : column();
    if (l == "0") return other;
    const std::string n = l == "j" ? "%1" : "%0";
    const auto at = [&](const std::string& subscript) {
      return l == "j" ? "%2[" + row() + ", " + subscript + "]" : "%4[" + subscript + "]";
    };
    const auto choice = [](const std::string& condition, const std::string& a, const std::string& b) {
      return "select(" + condition + ", " + a + ", " + b + ")";
    };
    switch (pick(9)) {
      case 0:
        return choice("ge(sub(" + l + ", 1), 0)", at("sub(" + l + ", 1)"), at("add(sub(" + l + ", 1), " + n + ")"));
      case 1: return choice("lt(" + l + ", sub(" + n + ", 2))", at("add(" + l + ", 2)"), other);
      case 2: return choice("eq(" + l + ", 0)", other, at("sub(" + l + ", 1)"));
      case 3: return choice("not(eq(" + l + ", sub(" + n + ", 1)))", at("add(" + l + ", 1)"), other);
      case 4:
        return choice("and(lt(0, " + l + "), gt(" + n + ", add(" + l + ", 1)))",
                      "sub(" + at("add(" + l + ", 1)") + ", " + at("sub(" + l + ", 1)") + ")", other);
      case 5: return choice("or(eq(" + l + ", 0), ge(" + l + ", 3))", at(l), other);
      case 6: return choice(comparison() + "(" + row() + ", " + column() + ")", at(l), other);
      case 7: return choice(comparison() + "(add(" + l + ", 1), " + (pick(2) == 0 ? "%0" : "2") + ")", at(l), other);
      default: return choice(comparison() + "(sub(" + n + ", " + l + "), " + row() + ")", other, at(l));
    }
  }
  std::string comparison() {
    const std::array<std::string, 6> all = {"eq", "ne", "lt", "le", "gt", "ge"};
    return all[static_cast<std::size_t>(pick(6))];
  }
  std::string guard() {
    switch (pick(5)) {
      case 4: return "and(" + comparison() + "(" + row() + ", " + column() + "), lt(add(" + row() + ", 1), %0))";
      case 0: return "le(%5[" + row() + "], " + column() + ")";
      case 1: return "lt(" + row() + ", " + column() + ")";
      case 2: return "and(ge(" + column() + ", %5[" + row() + "]), lt(" + column() + ", 3))";
      default: return "gt(" + leaf() + ", 0.0)";
    }
  }

  std::mt19937_64 random_;
  bool has_i_ = true, has_j_ = true, has_k_ = false;
};

/// The procedure applied by a program.
ir::ProcedureRef applied_procedure(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto program = frontend::compile(sources, sources.add("p.tdsl", text), sink, {});
  INFO(frontend::render_all(sink, sources));
  REQUIRE(program.has_value());
  ir::ProcedureRef found;
  ir::for_each_node(program->body, [&](const ir::Node& n) {
    const auto* c = std::get_if<ir::Compute>(&n.op);
    if (c == nullptr) return;
    ir::for_each_node(c->bodies.front(), [&](const ir::ExprNode& e) {
      if (const auto* a = std::get_if<ir::Apply>(&e.op)) found = a->procedure;
    });
  });
  return found;
}

/// Whether the procedure gives a value; the nest must give the same, or stop for the same reason.
bool same_call(const ir::ProcedureRef& procedure, const nest::Nest& n, const std::vector<double>& arguments) {
  nest::Inputs inputs;
  std::vector<ir::eval::Slot> slots(arguments.size());
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    inputs.captures[{static_cast<std::int32_t>(k)}] = arguments[k];
    slots[k].real = {arguments[k], 0};
  }
  std::string expected;
  try {
    expected = fmt::format("{}", ir::eval::CompiledProcedure(procedure, {}).call(slots).real.value);
  } catch (const ir::eval::Stop& stop) {
    CHECK_THROWS_AS(static_cast<void>(nest::interpret(n, inputs)), ir::eval::Stop);
    try {
      static_cast<void>(nest::interpret(n, inputs));
    } catch (const ir::eval::Stop& other) {
      CHECK(other.error.message == stop.error.message);
      CHECK(other.error.range.line == stop.error.range.line);
    }
    return false;
  }
  CHECK(fmt::format("{}", nest::interpret(n, inputs).floats.at(0)) == expected);
  return true;
}

/// Checks that the nests of the program, lowered with these options, compute the evaluator's values.
void check_program(const std::string& text, const passes::PipelineOptions& options, NestParts& parts) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  frontend::CompileOptions compile;
  compile.warn_unused = false;
  const auto program = frontend::compile(sources, sources.add("p.tdsl", text), sink, compile);
  INFO(frontend::render_all(sink, sources));
  REQUIRE(program.has_value());
  passes::PassContext context;
  const codegen::OperationProgram operations = codegen::lower(passes::run_pipeline(*program, options, context));
  INFO(text);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const tests::RandomInputs inputs(*program, seed);
    const ir::EvalResult expected = ir::evaluate(*program, inputs.options());
    try {
      const std::optional<ir::Array> actual = NestRunner(operations, inputs.options(), parts).run();
      REQUIRE(actual.has_value());
      CHECK_MESSAGE(!expected.error.has_value(), expected.error->message);
      if (!expected.error)
        CHECK_MESSAGE(nest_agrees(expected.outputs.at("y"), *actual),
                      fmt::format("[{}] became [{}]", fmt::join(expected.outputs.at("y").floats, ", "),
                                  fmt::join(actual->floats, ", ")));
    } catch (const ir::eval::Stop& stop) {
      CHECK_MESSAGE(expected.error.has_value(), stop.error.message);
      if (expected.error) CHECK(expected.error->range.line == stop.error.range.line);
    }
  }
}

/// check_program with all loops kept as loops.
void check_loops(const std::string& text, NestParts& parts) {
  passes::PipelineOptions options;
  options.level = 1;
  options.disabled = {"loops_to_algebra"};
  check_program(text, options, parts);
}

/// check_program with operators over the same rows fused; requires that some are.
void check_fused(const std::string& text, NestParts& parts) {
  const int before = parts.row_blocks;
  passes::PipelineOptions options;
  options.level = 2;
  check_program(text, options, parts);
  CHECK_MESSAGE(parts.row_blocks > before, text);
}

void check_random_nest(std::uint64_t seed, NestParts& parts) {
  const std::string text = ComputeWriter(seed).program();
  INFO("seed " << seed << "\n" << text);
  const ir::Program program = ir::parse(text);
  tests::check_verified(program);
  passes::PassContext context;
  passes::PipelineOptions options;
  options.level = 0;  // the level that produces the legal form
  const ir::Program legal = passes::run_pipeline(program, options, context);
  const codegen::OperationProgram operations = codegen::lower(legal);
  for (std::uint64_t inputs_seed = 0; inputs_seed < 3; ++inputs_seed) {
    const tests::RandomInputs inputs(program, inputs_seed == 0 ? 0 : 2 * seed + inputs_seed);
    const ir::EvalResult expected = ir::evaluate(program, inputs.options());
    try {
      const std::optional<ir::Array> actual = NestRunner(operations, inputs.options(), parts).run();
      if (!actual) return;
      CHECK_FALSE(expected.error.has_value());
      if (!expected.error) {
        const ir::Array& y = expected.outputs.at("y");
        CHECK_MESSAGE(nest_agrees(y, *actual), ir::print(legal)
                                                   << fmt::format("[{}] became [{}]", fmt::join(y.floats, ", "),
                                                                  fmt::join(actual->floats, ", ")));
      }
    } catch (const ir::eval::Stop& stop) { CHECK_MESSAGE(expected.error.has_value(), stop.error.message); }
  }
}

}  // namespace

TEST_CASE("codegen nest: files") {
  int cases = 0;
  for (const auto& entry : nest_files::directory_iterator(nest_files::path(TDSL_SOURCE_DIR) / "tests/nests")) {
    run_nest_case(entry.path());
    ++cases;
  }
  CHECK(cases >= 12);
}

TEST_CASE("codegen nest: violations that have no text") {
  const auto expect = [](const auto& change, const std::string& sentence) {
    nest::Nest n = nest::parse(R"(nest "k"
%0:f64[3] "x" operand 0
%1:f64[3] "y" result
%2:bool "before" local
index "i" in 0..3
body {
  for i over task side %2 until 1 {
    %1[i] = %0[i]
  }
}
)");
    change(std::get<nest::For>(n.body[0].op));
    const std::string found = nest_lines(nest::verify(n));
    CHECK_MESSAGE(found.find(sentence) != std::string::npos, found);
  };
  expect([](nest::For& f) { f.index = 7; }, "there is no index 7");
  expect([](nest::For& f) { std::get<nest::Store>(f.body[0].op).value = {}; }, "an expression is missing");
  expect([](nest::For& f) { f.parts->sides[0].until = {}; }, "the side %2 ends somewhere or has a condition");
  expect([](nest::For& f) { f.over = nest::Stored{}; }, "the loop over i walks nothing");
  expect(
      [](nest::For& f) {
        nest::Stored ahead;
        ahead.ahead.push_back({{99}, {}});
        f.over = ahead;
      },
      "there is no %99 to be fetched ahead");
}

TEST_CASE("codegen nest: kernels of random Computes compute their values") {
  NestParts parts;
  for (std::uint64_t seed = 0; seed < 400; ++seed) check_random_nest(seed, parts);
  // All constructs of nests occur.
  CHECK(parts.nests > 600);
  CHECK(parts.vectors > 50);
  CHECK(parts.lines > 20);
  CHECK(parts.blocks > 5);
  CHECK(parts.checks > 5);
  CHECK(parts.bounded > 50);
  CHECK(parts.narrowed > 5);
  CHECK(parts.scattered > 5);
  CHECK(parts.names > 20);
  CHECK(parts.interiors > 20);
  CHECK(parts.sides > 20);
}

TEST_CASE("codegen nest: fused rows compute the values of their operators") {
  NestParts parts;
  // The maximum, the differences, their sum, the quotients.
  check_fused(
      "input Z: f64[n, k];\nlet top[i] = max[j](Z[i, j]);\nlet E[i, j] = exp(Z[i, j] - top[i]);\nlet s[i] = "
      "sum[j](E[i, "
      "j]);\noutput y[i, j] = E[i, j] / s[i];",
      parts);
  // Sums along lines and over the rows, with common subexpressions.
  check_fused(
      "input Z: f64[n, k];\ninput v: f64[n];\nlet E[i, j] = exp(Z[i, j] - v[i]);\nlet s[i] = sum[j](E[i, j]);\noutput "
      "y = "
      "sum[i, j](log(s[i]) * E[i, j] + (v[i] - 1.0) * (v[i] - 1.0));",
      parts);
  // A product of a matrix and a vector, and of its transpose with a function of that.
  check_fused("input A: f64[n, m];\ninput v: f64[m];\nlet u = A @ v;\noutput y = A' @ (u * u);", parts);
  CHECK(parts.row_blocks > 3);
  CHECK(parts.row_products > 0);
}

TEST_CASE("codegen nest: functions of scalars compute the values of the procedures") {
  const std::vector<std::string> functions = {
      "fn f(a, b) { var s = 1.0; for i in 0..8 { s = 0.5 * (s + a / s); } return s * b; }",
      "fn f(a, b) { var s = a * b; var n = 0; while abs(s) > 0.3 { s = s / 2.0 + 0.01 * sin(a); n += 1; } if n > 2 { s "
      "= s * s; } else { s += exp(b); } return s + a; }",
      "fn f(a, b) { var r = 1.0; for i in 5..0 by -2 { if r > b { r = r * a; } else { r = r - f64(i); } } return r; }",
      "fn f(a, b) { var r = 0.0; for i in 0..4 { for j in i..4 { let t = a * f64(i) + b; if t > 0.5 { r += t; } } } "
      "return r; }",
      "fn f(a, b) { var k = 0; var r = a; while r * r < 9.0 && k < 20 { k += 1; r = r + b * f64(k); } assert(k < 15, "
      "\"too many\"); return r + f64(7 / (k - 3)); }",
      "fn f(a, b) { let y = a * a * sin(b); return grad(y, a) + grad(y, b); }",
  };
  int called = 0;
  int stopped = 0;
  for (const std::string& text : functions) {
    const ir::ProcedureRef procedure =
        applied_procedure("input x: f64[n];\ninput y: f64[n];\n" + text + "\noutput z = f(x, y);");
    INFO(text);
    REQUIRE(procedure);
    const nest::Nest n = codegen::build_nest(*procedure, "f");
    const std::string printed = nest::print(n);
    INFO(printed);
    CHECK(nest::verify(n).empty());
    CHECK(nest::print(nest::parse(printed)) == printed);
    for (const double a : {-2.5, -0.5, 0.0, 0.25, 1.0, 3.0}) {
      for (const double b : {-1.5, 0.0, 0.5, 2.0}) {
        ++called;
        stopped += same_call(procedure, nest::parse(printed), {a, b}) ? 0 : 1;
      }
    }
  }
  CHECK(called == 6 * 24);
  CHECK(stopped > 3);
  CHECK(stopped < 24);
}

TEST_CASE("codegen nest: loops that run as one task compute the values of the loops") {
  const std::string head = "input x: f64[n];\ninput q: f64[n];\ninput A: f64[n, n];\ninput p: i64[n];\n";
  const std::vector<std::string> loops = {
      "var y = x; for i in 1..n { y[i] = y[i - 1] * 0.5 + x[i]; } output y;",
      "var y = x; for i in 0..n { y[i] = (x[i] - A[i, 0:i] @ y[0:i]) / (3.0 + A[i, i]); } output y;",
      "var y = zeros(n); var s = 0.0; var k = 0; while k < n { if x[k] > s { s = x[k]; } else { s += 0.5; } y[k] = s; "
      "k += 1; } output y;",
      "var y = zeros(n); for i in 0..n { y[i] = f64(argmin[j in 0..n](abs(A[i, j] - y[(i + 1) % n]))); } output y;",
      "var y = x; for i in 0..n { y[p[i]] = y[p[i]] + q[i] * y[i]; } output y;",
      "var y = x; for i in 0..n { y[p[i] + i] = 2.0 * y[i]; } output y;",
      "var y = x; for i in 0..n { let o = p[i]; y[i] = y[i] + sum[j in 0..2](A[i, o + j] * y[j]); } output y;",
      "var y = x; for i in 0..n { let z = random(); y[i] = z * x[i] + (if i > 0 then y[i - 1] else randn()); } output "
      "y;",
      "var y = x; var z = q; for i in 0..n { let t = y; y = z + 0.5 * t; z = t; y[i] = z[i] + y[0]; } output y;",
      "var y = x; for t in 0..3 { y[0:n] = y[0:n] + A[0:n, t % n] * y[t % n]; y = A' @ y; } output y;",
      "var y = x; for i in 0..n { let w = y[0:i] * 2.0; y[i] = sum(w) + max[j in 0..n](A[i, j] * y[j]) + sum[j in "
      "0..n](x[j] / (1.0 + f64(j / (p[j] + 1)))); } output y;",
      "var y = x; for i in 0..n { y[0:n] = y[0:n] - q[i] * y[i]; assert(y[i] < 1.0e6, \"large\"); } output y;",
      "monoid most(a: f64, b: f64) { identity = -inf; combine = if a > b then a else b; } var y = x; for i in 0..n { "
      "y[i] = most[j in 0..n where p[j] > 0](A[j, i] + y[j]); } output y;",
      "var y = x; var S = A; for i in 0..n { S = S @ S' + 3.0 * eye(n); y = solve(S, y) + 0.5 * y; let d = det(S); S = "
      "inv(S) + "
      "f64(n) * eye(n); y = y / (1.0 + abs(d)) + cholesky(S) @ q; } output y;",
      "var y = x; var S = A; for i in 0..n { let (w, _V) = eigh(S); S = solve(S + 9.0 * eye(n), A') + eye(n); y = y + "
      "w; } output y;",
  };
  NestParts parts;
  for (const std::string& text : loops) check_loops(head + text, parts);
  CHECK(parts.nests >= 12);
  CHECK(parts.rows > 0);
  CHECK(parts.products > 0);
  CHECK(parts.lines_checked > 0);
  CHECK(parts.views > 0);
  CHECK(parts.positions > 0);
  CHECK(parts.draws > 0);
  CHECK(parts.resized > 0);
  CHECK(parts.whiles > 0);
  CHECK(parts.kept > 0);
  CHECK(parts.routines >= 6);
}

TEST_CASE("codegen nest: text that cannot be read says where") {
  CHECK_THROWS_WITH(static_cast<void>(nest::parse("nest \"k\"\n%1:f64 \"x\" capture\nbody { }")),
                    doctest::Contains("2:3: variables are numbered in order"));
  CHECK_THROWS_WITH(static_cast<void>(nest::parse("nest \"k\"\n%0:f64 \"x\" capture\nbody { %1 = 0.0 }")),
                    doctest::Contains("3:10: no variable has this number"));
  CHECK_THROWS_WITH(static_cast<void>(nest::parse("nest \"k\"\nbody { for i over task { } }")),
                    doctest::Contains("no index variable is called `i`"));
}
