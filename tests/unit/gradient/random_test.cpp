#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/gradient/check.h"
#include "tests/unit/thinned.h"

// Random programs whose derivatives are compared with finite differences (`TDSL_RANDOM_GRADIENTS=500` for more).

namespace {

using namespace tdsl;

/// Writes a smooth program over varied vectors `u`, `v`, a matrix `M` and a scalar `s`, and fixed inputs. Functions are
/// bounded, so that nothing overflows; conditions depend on integers only, so that nothing is discontinuous.
class ProgramWriter {
 public:
  explicit ProgramWriter(std::uint64_t seed) : random_(seed) {}

  std::string program() {
    text_ << "input x: f64[n]; input y: f64[n]; input w: f64[m]; input A: f64[n, m]; input c: i64[n];\n"
          << "var u = x; var v = y; var M = A; var s = 0.3;\n";
    const int statements = 2 + pick(4);
    for (int k = 0; k < statements; ++k) statement(0);
    text_ << "let loss = sum(u * v) + sum(u) + sum(tanh(M)) + s * s;\n"
          << "let (gx, gy, gw, gA) = grad(loss, x, y, w, A);\n"
          << "output d_x = gx; output d_y = gy; output d_w = gw; output d_A = gA; output loss;\n";
    return text_.str();
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  std::string any(const std::vector<std::string>& choices) {
    return choices[static_cast<std::size_t>(pick(static_cast<int>(choices.size())))];
  }

  std::string vector() { return any({"u", "v", "x", "y"}); }
  std::string target() { return any({"u", "v"}); }

  /// One element, where `i` ranges from 0 to n: an index or loop variable.
  std::string element(const std::string& i, int depth) {
    if (depth == 0) {
      switch (pick(6)) {
        case 0: return vector() + "[n - 1 - " + i + "]";
        case 1: return vector() + "[c[" + i + "]]";
        case 2: return any({"M", "A"}) + "[" + i + ", " + any({"0", "1", "2", "c[" + i + "]"}) + "]";
        case 3: return any({"s", "0.7", "w[1]"});
        default: return vector() + "[" + i + "]";
      }
    }
    const auto part = [&] { return element(i, depth - 1); };
    switch (pick(13)) {
      case 0: return "sin(" + part() + ")";
      case 1: return "tanh(" + part() + " + " + part() + ")";
      case 2: return "(" + part() + " + " + part() + ")";
      case 3: return "(" + part() + " * " + part() + ")";
      case 4: return "(" + part() + " - 0.5 * " + part() + ")";
      case 5: return "(" + part() + " / (2.0 + " + vector() + "[" + i + "] ** 2))";
      case 6: return "(if c[" + i + "] > 0 then " + part() + " else " + part() + ")";
      case 7: return "sum[j](" + any({"M", "A"}) + "[" + i + ", j] * w[j])";
      case 8: return "sum[j](sin(" + any({"M", "A"}) + "[" + i + ", j] * " + part() + "))";
      case 9: return "max[j](" + any({"M", "A"}) + "[" + i + ", j] * (1.0 + 0.1 * w[j]))";
      case 10: return "prod[j](0.5 + 0.3 * sin(M[" + i + ", j]))";
      case 11: return "exp(-(" + part() + " ** 2))";
      default: return "sqrt(1.0 + " + part() + " ** 2)";
    }
  }
  std::string bounded(const std::string& i, int depth) { return "tanh(" + element(i, depth) + ")"; }

  void statement(int depth) {
    const std::string t = target();
    switch (pick(depth < 2 ? 13 : 10)) {
      case 0: text_ << t << "[i] = " << bounded("i", 2) << " for i in 0..n;\n"; return;
      case 1: text_ << t << "[i] = " << bounded("i", 1) << " + 0.2 * " << t << "[i - 1] for i in 1..n;\n"; return;
      case 2:
        text_ << t << "[i] " << any({"+=", "-=", "*="}) << " " << bounded("i", 2) << " where c[i] > 0 for i in 0..n;\n";
        return;
      case 3: text_ << t << "[c[i]] += 0.3 * " << bounded("i", 2) << " for i in 0..n;\n"; return;
      case 4: text_ << "M[i, j] = tanh(M[i, j] * w[j] + " << vector() << "[i]);\n"; return;
      case 5: text_ << "M = tanh(M @ (M' @ A) + outer(" << vector() << ", w));\n"; return;
      case 6:
        text_ << "s = tanh(" << any({"s * ", ""}) << "sum(" << vector() << " * " << vector() << ")" << any({" + s", ""})
              << ");\n";
        return;
      case 7: text_ << t << "[1:3] = sin(" << vector() << "[0:2] * s);\n"; return;
      case 8: text_ << t << " = tanh(M @ w + " << vector() << " * s);\n"; return;
      case 9: at_one_place(); return;
      case 10: loop(depth); return;
      case 11: loop(depth); return;
      default: branch(depth); return;
    }
  }

  /// Elementwise inside a loop, otherwise at a single position.
  void at_one_place() {
    const std::string i = loops_.empty() ? any({"0", "1", "3"}) : any(loops_);
    switch (pick(3)) {
      case 0: text_ << target() << "[" << i << "] = " << bounded(i, 2) << ";\n"; return;
      case 1: text_ << target() << "[" << i << "] += 0.4 * " << bounded(i, 2) << ";\n"; return;
      default: text_ << "s += 0.2 * " << bounded(i, 2) << ";\n"; return;
    }
  }

  void loop(int depth) {
    const std::string t = "t" + std::to_string(loops_.size());
    text_ << "for " << t << " in " << any({"0..n", "0..3", "1..n", "3..0 by -1", "0..4 by 2", "2..2"}) << " {\n";
    loops_.push_back(t);
    for (int k = 1 + pick(2); k > 0; --k) pick(2) == 0 ? at_one_place() : statement(depth + 1);
    loops_.pop_back();
    text_ << "}\n";
  }

  void branch(int depth) {
    const std::string condition = loops_.empty() ? "c[0] > 0" : "c[" + loops_.back() + "] > 0";
    text_ << "if " << condition << " {\n";
    statement(depth + 1);
    text_ << "}";
    if (pick(2) == 0) {
      text_ << " else {\n";
      statement(depth + 1);
      text_ << "}";
    }
    text_ << "\n";
  }

  std::mt19937_64 random_;
  std::ostringstream text_;
  std::vector<std::string> loops_;
};

}  // namespace

TEST_CASE("grad: random programs") {
  const char* wanted = std::getenv("TDSL_RANDOM_GRADIENTS");
  const int programs = wanted == nullptr ? tests::thinned(80) : std::atoi(wanted);
  for (int seed = 0; seed < programs; ++seed) {
    CAPTURE(seed);
    tests::GradientCheck(ProgramWriter(static_cast<std::uint64_t>(seed)).program()).run();
  }
}
