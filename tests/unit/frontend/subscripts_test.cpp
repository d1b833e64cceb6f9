#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "ir/eval/eval.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "passes/pipeline.h"

// Subscripts of closed expressions are checked against extents: every constructor, structure function and slice, with
// every kind of subscript, read once, in a kernel, and in a loop; both in the frontend's program and after the passes.

namespace tdsl::tests::subscripts {

namespace {

/// `$` is the subscript; `extent` that of its dimension.
struct Form {
  std::string text;
  std::int64_t extent;
};

const std::vector<Form>& forms() {
  static const std::vector<Form> all = {{"x[2:4][$]", 2},
                                        {"x[0:2][$]", 2},
                                        {"x[1:n - 1][$]", 4},
                                        {"x[:-2][$]", 4},
                                        {"x[1:6:2][$]", 3},
                                        {"x[1:5][1:3][$]", 2},
                                        {"A[1, :][$]", 6},
                                        {"A[:, 2][$]", 4},
                                        {"A[1:3, 2:5][$, 0]", 2},
                                        {"A[1:3, 2:5][0, $]", 3},
                                        {"(x + 1.0)[$]", 6},
                                        {"(-x[2:5])[$]", 3},
                                        {"(2.0 * x[0:3] + x[1:4])[$]", 3},
                                        {"where(x > 100.0, x, 0.0)[$]", 6},
                                        {"(x[0:2] + x[2])[$]", 2},
                                        {"reshape(A, 24)[$]", 24},
                                        {"reshape(x, 2, 3)[$, 0]", 2},
                                        {"reshape(x, 2, 3)[0, $]", 3},
                                        {"reshape(A, 4, 2, 3)[0, $, 0]", 2},
                                        {"iota(4)[$]", 4},
                                        {"zeros(4)[$]", 4},
                                        {"ones(4, 2)[$, 0]", 4},
                                        {"ones(4, 2)[0, $]", 2},
                                        {"full(x[0], 4)[$]", 4},
                                        {"eye(4)[$, $]", 4},
                                        {"eye(4, 3)[0, $]", 3},
                                        {"roll(x, 1)[$]", 6},
                                        {"roll(A, 1, axis=0)[$, 1]", 4},
                                        {"roll(A, 1, axis=1)[1, $]", 6},
                                        {"roll(A, 1)[$, 0]", 4},
                                        {"flip(x)[$]", 6},
                                        {"flip(A, axis=1)[0, $]", 6},
                                        {"A'[$, 0]", 6},
                                        {"A'[0, $]", 4},
                                        {"transpose(A, 1, 0)[$, 0]", 6},
                                        {"concat(x, x)[$]", 12},
                                        {"concat(A, A, axis=1)[0, $]", 12},
                                        {"concat(x[0:2], x[0:2])[$]", 4},
                                        {"diag(x)[$, 0]", 6},
                                        {"diag(x)[0, $]", 6},
                                        {"diag(A)[$]", 4},
                                        {"tril(A)[$, 0]", 4},
                                        {"triu(A)[0, $]", 6},
                                        {"outer(x, x[0:3])[$, 0]", 6},
                                        {"outer(x, x[0:3])[0, $]", 3},
                                        {"pad(x[0:2], 0.0)[0:2][$]", 2},
                                        {"(A @ A')[$, 0]", 4},
                                        {"cumsum(x)[$]", 6},
                                        {"sort(x)[$]", 6},
                                        {"sum(A, axis=0)[$]", 6},
                                        {"random(4)[$]", 4},
                                        {"abs(x[1:3])[$]", 2},
                                        {"f64(iota(3))[$]", 3},
                                        {"(x > 0.0)[$]", 6},
                                        {"A[1:3, :]'[$, 0]", 6},
                                        {"A[1:3, :]'[0, $]", 2},
                                        {"tail(x)[$]", 3},
                                        {"sparse(A)[$, 0]", 4},
                                        {"sparse(A[1:3, :])[$, 0]", 2}};
  return all;
}

/// A kind of subscript in a program context.
struct Use {
  std::string name;
  std::string program;       ///< `@` is the position of the form
  std::string subscript;     ///< in terms of `e`, `q`, and the context's index or loop variable
  std::int64_t first, last;  ///< minimum and maximum added to `e`
};

const std::vector<Use>& uses() {
  const std::string read = "output y = f64(@);";
  const std::string kernel = "let y[i] = 2.0 * f64(@) for i in 0..3; output y;";
  const std::string guarded = "let y[i] = if q[i] != 50 then f64(@) else 0.0; output y;";
  const std::string where = "let y[i] = f64(@) where q[i] != 50 for i in 0..3; output y;";
  const std::string reduction = "output y = sum[i in 0..3](f64(@));";
  const std::string task = "var y = 0.0; for t in 0..3 { y = y * y * 0.5 + f64(@); } output y;";
  const std::string each = "var y = zeros(3); for t in 0..3 { y[t] = f64(@); } output y;";
  const std::string applied =
      "fn at(k: i64, e: i64, x, A, n: i64) { var s = 0.0; if k < 3 { s = f64(@); } return s; } let y[i] = at(i, e, x, "
      "A, n) for i in 0..3; output y;";
  static const std::vector<Use> all = {{"param, read", read, "e", 0, 0},
                                       {"param, in a sum", read, "e + 1", 1, 1},
                                       {"gather, read", read, "q[1]", 0, 0},
                                       {"param, kernel", kernel, "e", 0, 0},
                                       {"affine, kernel", kernel, "i + e", 0, 2},
                                       {"falling, kernel", kernel, "e - i", -2, 0},
                                       {"gather, kernel", kernel, "q[i]", 0, 0},
                                       {"affine, guarded", guarded, "i + e", 0, 2},
                                       {"gather, guarded", guarded, "q[i]", 0, 0},
                                       {"affine, where", where, "i + e", 0, 2},
                                       {"affine, reduction", reduction, "i + e", 0, 2},
                                       {"gather, reduction", reduction, "q[i]", 0, 0},
                                       {"param, task", task, "e", 0, 0},
                                       {"affine, task", task, "t + e", 0, 2},
                                       {"gather, task", task, "q[t]", 0, 0},
                                       {"affine, each", each, "t + e", 0, 2},
                                       {"gather, each", each, "q[t]", 0, 0},
                                       {"argument, applied", applied, "k + e", 0, 2}};
  return all;
}

std::string with_text(std::string text, char place, const std::string& by) {
  for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + by.size()))
    text.replace(at, 1, by);
  return text;
}

ir::Array dense(std::vector<std::int64_t> shape, std::vector<double> floats) {
  ir::Array a;
  a.shape = std::move(shape);
  a.floats = std::move(floats);
  return a;
}

struct Both {
  ir::Program made;
  ir::Program passed;
};

std::optional<Both> both_of(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto program = frontend::compile(sources, sources.add("test.tdsl", text), sink);
  INFO(text);
  INFO(frontend::render_all(sink, sources));
  CHECK(program.has_value());
  if (!program) return std::nullopt;
  passes::PassContext context;
  Both both{*program, passes::run_pipeline(*program, {}, context)};
  CHECK(ir::verify(both.passed).empty());
  return both;
}

ir::EvalResult evaluated(const ir::Program& program, std::int64_t e) {
  ir::EvalOptions options;
  options.params["e"] = e;
  options.input = [e](const std::string& name, ir::Scalar type) {
    if (type == ir::Scalar::kI64) {
      ir::Array q;
      q.type = type;
      q.shape = {3};
      q.integers = {0, e, 0};
      return q;
    }
    std::vector<double> values(name == "x" ? 6 : 24);
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k) + 0.5;
    return dense(name == "x" ? std::vector<std::int64_t>{6} : std::vector<std::int64_t>{4, 6}, values);
  };
  return ir::evaluate(program, options);
}

const std::string kNames =
    "input q: i64[3];\ninput x: f64[n];\ninput A: f64[m, n];\nfn tail(x: f64[k]) { return x[k - 3:k]; }\n";

/// Whether the program stops for this `e`, equally before and after the passes.
bool stops(const Both& program, std::int64_t e) {
  const ir::EvalResult made = evaluated(program.made, e);
  const ir::EvalResult passed = evaluated(program.passed, e);
  INFO(e);
  INFO((made.error ? made.error->message : std::string("no error")));
  CHECK(made.error.has_value() == passed.error.has_value());
  if (made.error) CHECK(made.error->message.find("subscript") != std::string::npos);
  return made.error.has_value();
}

void check_stops(const Form& form, const Use& use, const std::string& text) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const auto program = both_of(text);
  if (!program) return;
  INFO(use.name);
  INFO(text);
  INFO(ir::print(program->passed));
  const std::int64_t highest = form.extent - 1 - use.last;
  if (highest >= -use.first) {
    CHECK_FALSE(stops(*program, highest));
    CHECK_FALSE(stops(*program, -use.first));
  }
  for (const std::int64_t e : {highest + 1, -use.first - 1, kLargest, -kLargest - 1}) CHECK(stops(*program, e));
}

}  // namespace

TEST_CASE("subscripts: closed expressions are checked against their own extents, whatever passes make of them") {
  for (const Form& form : forms()) {
    const std::size_t bracket = form.text.rfind('[', form.text.find('$'));
    const std::string named = "let base = " + form.text.substr(0, bracket) + ";\n";
    for (const Use& use : uses()) {
      const auto program = [&](const std::string& text) {
        return with_text(use.program, '@', with_text(text, '$', use.subscript)) + "\n";
      };
      check_stops(form, use, "param e: i64 = 0;\n" + kNames + program(form.text));
      if (use.name != "argument, applied")
        check_stops(form, use, "param e: i64 = 0;\n" + kNames + named + program("base" + form.text.substr(bracket)));
    }
  }
}

TEST_CASE("subscripts: what ranges say needs no check") {
  for (const std::string text :
       {"let y[i] = x[1:n][i];", "let y[i, j] = A'[i, j];", "let y[i] = roll(x, 1)[i];",
        "let y[i] = flip(x)[i] + x[i];", "let y[i, j] = reshape(x, 2, 3)[i, j];",
        "let y[i] = x[2:6][i + 1] for i in 0..3;", "let y[i] = sum[k](A[1:m, :][i, k] * x[k]);",
        "let y[i, j] = concat(A, A)[i, j];", "let y[i] = A'[i, q[0]];", "let y[i] = (x + 1.0)[i];",
        "let y[i] = (A @ x)[i];", "let y = A[1, :][2:4];", "let y[i] = eye(4)[i, i];",
        "var y = zeros(4); for t in 0..4 { y[t] = iota(4)[t] * 1.0; }"}) {
    const auto program = both_of("param e: i64 = 0;\n" + kNames + text + " output y;\n");
    REQUIRE(program.has_value());
    const std::string passed = ir::print(program->passed);
    INFO(text);
    INFO(passed);
    CHECK(passed.find("subscript_") == std::string::npos);
    CHECK(passed.find("out of bounds") == std::string::npos);
  }
}

TEST_CASE("subscripts: sums of index variables and values known at start are checked ahead") {
  const auto program = both_of("param e: i64 = 0;\n" + kNames + "output y = sum[i in 0..3](x[1:n][i + e] * x[i]);\n");
  REQUIRE(program.has_value());
  const std::string passed = ir::print(program->passed);
  INFO(passed);
  CHECK(passed.find("subscript_") == std::string::npos);
  CHECK(passed.find("computed subscripts never count from the end") != std::string::npos);
  CHECK(passed.find("is out of bounds: the last element of the dimension is {right}") != std::string::npos);
}

TEST_CASE("subscripts: a derivative stops where its value does") {
  for (const std::string element :
       {"x[1:4][e]", "x[1:4][q[1]]", "roll(x, 1)[q[1]]", "(if e < 100 then x[1:4][e] else 0.0)"}) {
    const auto program = both_of("param e: i64 = 0;\n" + kNames + "let s = " + element + ";\noutput g = grad(s, x);\n");
    REQUIRE(program.has_value());
    INFO(element);
    INFO(ir::print(program->passed));
    CHECK_FALSE(evaluated(program->passed, 2).error.has_value());
    CHECK(evaluated(program->passed, 6).error.has_value());
    CHECK(evaluated(program->passed, -1).error.has_value());
  }
}

}  // namespace tdsl::tests::subscripts
