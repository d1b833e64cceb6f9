#pragma once

#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace tdsl::tests {

/// Writes the text of a program with a nest of element and slice statements over matrices of n x n elements: triangles,
/// loops that count down, temporaries that an iteration overwrites, updates in place, mirrored stores, conditions.
/// Every subscript is in bounds for all n.
class ScopWriter {
 public:
  explicit ScopWriter(std::uint64_t seed) : random_(seed * 2654435761u + 17) {}

  std::string program() {
    text_ << "program \"nest\"\n%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, %0] \"A\" = input \"A\"\n"
          << "%2:f64[%0, %0] \"B\" = input \"B\"\n%3:f64[%0] \"x\" = input \"x\"\n%4:i64 = compute [] (0)\n"
          << "%5:i64 = compute [] (1)\n%6:i64 = compute [] (sub(%0, 1))\n%7:i64 = compute [] (sub(%0, 2))\n"
          << "%8:f64[%0] \"w\" = compute [k in 0..%0] (0.25)\n";
    const State s = loop({"%1", "%8"});
    text_ << "output \"A\" " << s.a << "\n";
    if (pick(3) == 0) text_ << "output \"w\" " << s.w << "\n";
    return text_.str();
  }

 private:
  /// Current versions of the carried values.
  struct State {
    std::string a;
    std::string w;
  };

  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  std::string fresh() { return "%" + std::to_string(next_++); }
  std::string index() { return indices_[static_cast<std::size_t>(pick(static_cast<int>(indices_.size())))]; }

  /// `i in 1..n - 1`, downwards, or a triangle.
  State loop(State in) {
    const std::size_t depth = indices_.size();
    std::string begin = "%5";
    std::string end = "%6";
    bool down = false;
    switch (pick(depth == 0 ? 5 : 8)) {
      case 0:
        begin = "%7";
        end = "%4";
        down = true;
        break;
      case 5: begin = index(); break;
      case 6: end = index(); break;
      case 7:
        begin = fresh();
        text_ << begin << ":i64 = compute [] (add(" << index() << ", 1))\n";
        break;
      default: break;
    }
    const State out{fresh(), fresh()};
    const std::string i = fresh();
    State s{fresh(), fresh()};
    text_ << out.a << ":f64[%0, %0] \"A\", " << out.w << ":f64[%0] \"w\" = for " << begin << ".." << end << " by "
          << (down ? "-1" : "1") << " with (" << in.a << ", " << in.w << ") do (" << i << ":i64 \"i" << depth << "\", "
          << s.a << ":f64[%0, %0] \"A\", " << s.w << ":f64[%0] \"w\") {\n";
    indices_.push_back(i);
    const std::size_t temporaries = temporaries_.size();
    for (int k = 1 + pick(2); k > 0; --k) s = statement(s);
    if (depth < 2 && pick(3) != 0) {
      s = loop(s);
      if (pick(2) == 0) s = statement(s);
    }
    temporaries_.resize(temporaries);
    indices_.pop_back();
    text_ << "yield " << s.a << ", " << s.w << "\n}\n";
    return out;
  }

  std::string subscript() {
    const std::string i = index();
    switch (pick(6)) {
      case 0: return "add(" + i + ", 1)";
      case 1: return "sub(" + i + ", 1)";
      default: return i;
    }
  }

  /// `label`: subscripts that count along a slice, or empty.
  std::string value(const State& s, const std::string& label, int depth) {
    const std::string a = label.empty() || pick(3) == 0 ? subscript() : label;
    const std::string b = label.empty() || pick(3) == 0 ? subscript() : label;
    switch (pick(depth > 0 ? 9 : 4)) {
      case 0: return "%2[" + a + ", " + b + "]";
      case 1: return s.a + "[" + a + ", " + b + "]";
      case 2: return s.w + "[" + a + "]";
      case 3: return "%3[" + b + "]";
      case 4: return "mul(0.5, " + value(s, label, depth - 1) + ")";
      case 5: return "max(" + value(s, label, depth - 1) + ", " + value(s, label, depth - 1) + ")";
      case 6:
        return temporaries_.empty()
                   ? "0.5"
                   : temporaries_[static_cast<std::size_t>(pick(static_cast<int>(temporaries_.size())))];
      default: return "add(" + value(s, label, depth - 1) + ", " + value(s, label, depth - 1) + ")";
    }
  }

  std::string condition() {
    if (pick(4) != 0) return "";
    return pick(2) == 0 ? " where lt(" + index() + ", " + index() + ")" : " where gt(%3[" + index() + "], 0.0)";
  }

  State statement(State s) {
    const std::string v = fresh();
    const std::string i = index();
    const std::string slice = "[k in 0..%0 - " + i + "]";
    const std::string along = "add(k, " + i + ")";
    switch (pick(10)) {
      case 0:
      case 1:
        text_ << v << ":f64[%0, %0] \"A\" = compute [] (" << value(s, "", 2) << ")" << condition() << " left ["
              << subscript() << ", " << subscript() << "] base " << s.a << (pick(3) == 0 ? " combine sum\n" : "\n");
        return {v, s.w};
      case 2:
      case 3: {
        const bool row = pick(2) == 0;
        text_ << v << ":f64[%0, %0] \"A\" = compute " << slice << " (" << value(s, along, 1) << ") left ["
              << (row ? i : along) << ", " << (row ? along : i) << "] base " << s.a
              << (pick(4) == 0 ? " combine sum\n" : "\n");
        return {v, s.w};
      }
      case 4: text_ << v << ":f64[%0] \"w\" = compute [k in 0..%0] (" << value(s, "k", 1) << ")\n"; return {s.a, v};
      case 5:
        text_ << v << ":f64[%0] \"w\" = compute [] (" << value(s, "", 1) << ") left [" << subscript() << "] base "
              << s.w << "\n";
        return {s.a, v};
      case 6:
        text_ << v << ":f64 = compute [] sum[k in 0..%0 - " << i << "] (mul(" << value(s, along, 0) << ", "
              << value(s, along, 0) << "))\n";
        temporaries_.push_back(v);
        return s;
      case 7: {
        text_ << v << ":f64[%0 - " << i << "] = compute " << slice << " (" << value(s, along, 1) << ")\n";
        const std::string stored = fresh();
        text_ << stored << ":f64[%0, %0] \"A\" = compute " << slice << " (" << v << "[k]) left [" << along << ", " << i
              << "] base " << s.a << "\n";
        if (pick(2) == 0) return {stored, s.w};
        const std::string mirrored = fresh();
        text_ << mirrored << ":f64[%0, %0] \"A\" = compute " << slice << " (" << stored << "[" << along << ", " << i
              << "]) left [" << i << ", " << along << "] base " << stored << "\n";
        return {mirrored, s.w};
      }
      case 8: {  // A[i, j] = A[i, j] - A[i, k] * 0.5, or a maximum
        const std::string place = "[" + i + ", " + index() + "]";
        text_ << v << ":f64[%0, %0] \"A\" = compute [] (" << (pick(2) == 0 ? "sub(" : "max(") << s.a << place
              << ", mul(0.5, " << s.a << "[" << index() << ", " << index() << "])))" << condition() << " left " << place
              << " base " << s.a << "\n";
        return {v, s.w};
      }
      default:
        text_ << v << ":f64[%0, %0] \"A\" = compute [] (" << s.a << "[" << i << ", " << index() << "]) left ["
              << index() << ", " << i << "] base " << s.a << "\n";
        return {v, s.w};
    }
  }

  std::mt19937_64 random_;
  std::ostringstream text_;
  int next_ = 9;
  std::vector<std::string> indices_;
  std::vector<std::string> temporaries_;  ///< scalars of the iteration
};

}  // namespace tdsl::tests
