#pragma once

#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace tdsl::tests {

/// Writes the text of a program with one loop nest. Every subscript is in bounds: tensors have 12 elements per
/// dimension, and loop variables are within 2..9.
class NestWriter {
 public:
  explicit NestWriter(std::uint64_t seed) : random_(seed) {}

  std::string program() {
    text_ << "program \"nest\"\n"
          << "%0:f64[12] = input \"x\"\n%1:f64[12] = input \"y\"\n%2:f64[12, 12] = input \"A\"\n"
          << "%3:f64[12, 12] = input \"B\"\n%4:i64[12] = input \"p\"\n%5:f64 = compute [] ("
          << (pick(2) ? "0.0" : "1.5") << ")\n";
    next_ = 6;
    State s{"%0", "%2", "%5"};
    s = loop(s, 0);
    text_ << "output \"x\" " << s.x << "\noutput \"A\" " << s.a << "\noutput \"s\" " << s.s << "\n";
    return text_.str();
  }

 private:
  /// Current versions of the three carried values.
  struct State {
    std::string x;
    std::string a;
    std::string s;
  };

  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  std::string fresh() { return "%" + std::to_string(next_++); }

  State loop(State in, int depth) {
    const bool down = pick(5) == 0;
    const std::string low = down ? "9" : (pick(3) == 0 && depth > 0 ? outer() : "2");
    const std::string high = down ? "2" : (pick(4) == 0 && depth > 0 ? outer() : std::to_string(4 + pick(6)));
    const std::string begin = fresh();
    text_ << begin << ":i64 = compute [] (" << low << ")\n";
    const std::string end = fresh();
    text_ << end << ":i64 = compute [] (" << high << ")\n";
    const State out{fresh(), fresh(), fresh()};
    const std::string index = fresh();
    const State body{fresh(), fresh(), fresh()};
    const int step = down ? -1 - pick(2) : 1 + (pick(4) == 0 ? 1 : 0);
    text_ << out.x << ":f64[12], " << out.a << ":f64[12, 12], " << out.s << ":f64 = for " << begin << ".." << end
          << " by " << step << " with (" << in.x << ", " << in.a << ", " << in.s << ") do (" << index << ":i64 \"i"
          << depth << "\", " << body.x << ":f64[12], " << body.a << ":f64[12, 12], " << body.s << ":f64) {\n";
    indices_.push_back(index);
    State state = body;
    const int statements = 1 + pick(3);
    for (int k = 0; k < statements; ++k) state = statement(state, depth);
    if (depth < 2 && pick(3) != 0) state = loop(state, depth + 1);
    if (pick(4) == 0) state = statement(state, depth);
    indices_.pop_back();
    text_ << "yield " << state.x << ", " << state.a << ", " << state.s << "\n}\n";
    return out;
  }

  std::string outer() { return indices_[static_cast<std::size_t>(pick(static_cast<int>(indices_.size())))]; }

  std::string subscript() {
    const std::string i = outer();
    switch (pick(8)) {
      case 0: return "add(" + i + ", 1)";
      case 1: return "sub(" + i + ", 1)";
      case 2: return "11";
      case 3: return "%4[" + i + "]";
      default: return i;
    }
  }

  std::string value(const State& s, int depth) {
    switch (pick(depth > 0 ? 9 : 4)) {
      case 0: return "%1[" + subscript() + "]";
      case 1: return "%3[" + subscript() + ", " + subscript() + "]";
      case 2: return "0.5";
      case 3: return local_.empty() ? "%1[" + subscript() + "]" : local_;
      case 4: return s.x + "[" + subscript() + "]";
      case 5: return "mul(0.25, " + value(s, depth - 1) + ")";
      case 6: return "add(" + value(s, depth - 1) + ", " + value(s, depth - 1) + ")";
      case 7: return s.a + "[" + subscript() + ", " + subscript() + "]";
      default: return "%3[" + outer() + ", " + outer() + "]";
    }
  }

  State statement(State s, int depth) {
    const std::string guard = pick(5) == 0 ? " where gt(%1[" + outer() + "], 0.0)" : "";
    const std::string v = fresh();
    switch (pick(7)) {
      case 0:
        text_ << v << ":f64 = compute [] (add(" << s.s << ", " << value(s, 2) << "))\n";
        s.s = v;
        break;
      case 1:
        text_ << v << ":f64[12] = compute [] (" << value(s, 2) << ")" << guard << " left [" << subscript() << "] base "
              << s.x << " combine sum\n";
        s.x = v;
        break;
      case 2: {
        text_ << v << ":f64[12] = compute [] (" << value(s, 2) << ")" << guard << " left [" << outer() << "] base "
              << s.x << "\n";
        s.x = v;
        break;
      }
      case 3:
        if (pick(2) == 0) {
          s.a = update(v, s, guard);
          break;
        }
        text_ << v << ":f64[12, 12] = compute [] (" << value(s, 2) << ")" << guard << " left [" << outer() << ", "
              << outer() << "] base " << s.a << (pick(2) ? " combine sum\n" : "\n");
        s.a = v;
        break;
      case 4:
        text_ << v << ":f64[12, 12] = compute [q in 0..12] (mul(0.5, %3[q, " << outer() << "])) left [" << outer()
              << ", q] base " << s.a << " combine sum\n";
        s.a = v;
        break;
      case 5:
        if (depth == 0) {
          text_ << v << ":f64 = compute [] max[q in 0..12] (%3[" << outer() << ", q])\n";
          local_ = v;
        } else {
          text_ << v << ":f64[12] = compute [] (max(" << s.x << "[" << outer() << "], " << value(s, 1) << ")) left ["
                << outer() << "] base " << s.x << "\n";
          s.x = v;
        }
        break;
      default: s = branch(s, v); break;
    }
    return s;
  }

  /// `A[i, j] = A[i, j] - e` or a maximum, of elements of A.
  std::string update(const std::string& v, const State& s, const std::string& guard) {
    const std::string place = "[" + outer() + ", " + outer() + "]";
    const std::string read = s.a + "[" + outer() + ", " + outer() + "]";
    text_ << v << ":f64[12, 12] = compute [] (" << (pick(2) == 0 ? "sub(" : "max(") << s.a << place << ", add(" << read
          << ", " << value(s, 1) << ")))" << guard << " left " << place << " base " << s.a << "\n";
    return v;
  }

  State branch(State s, const std::string& condition) {
    text_ << condition << ":bool = compute [] (lt(%1[" << outer() << "], 1.0))\n";
    const std::string x = fresh();
    const std::string t = fresh();
    const std::string then_x = fresh();
    const std::string then_t = fresh();
    text_ << x << ":f64[12], " << t << ":f64 = if " << condition << " then () {\n"
          << then_x << ":f64[12] = compute [] (" << value(s, 1) << ") left [" << outer() << "] base " << s.x << "\n"
          << then_t << ":f64 = compute [] (add(" << s.s << ", 1.0))\nyield " << then_x << ", " << then_t
          << "\n} else () {\n";
    const std::string else_x = fresh();
    text_ << else_x << ":f64[12] = compute [] (" << value(s, 1) << ") left [" << outer() << "] base " << s.x
          << " combine sum\nyield " << else_x << ", " << s.s << "\n}\n";
    return {x, s.a, t};
  }

  std::mt19937_64 random_;
  std::ostringstream text_;
  int next_ = 0;
  std::vector<std::string> indices_;
  std::string local_;
};

}  // namespace tdsl::tests
