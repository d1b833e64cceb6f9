#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "ir/eval/eval.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "passes/pass_context.h"
#include "passes/pipeline.h"

namespace tdsl::tests {

/// Small random inputs for any program, reproducible by seed. Dimensions have sizes in 0..6.
class RandomInputs {
 public:
  RandomInputs(const ir::Program& program, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (const ir::Node& node : program.body.nodes) {
      const auto* d = std::get_if<ir::Dimension>(&node.op);
      if (d == nullptr) continue;
      const std::int64_t size = seed == 0 ? 4 : static_cast<std::int64_t>(random() % 7);
      options_.dimensions[d->name] = size;
      sizes_[node.results[0]] = size;
    }
    for (const ir::Node& node : program.body.nodes) {
      const auto* input = std::get_if<ir::Input>(&node.op);
      if (input == nullptr) continue;
      arrays_[input->name] = array(program.type(node.results[0]), random);
    }
    options_.seed = seed;
    options_.input = [this](const std::string& name, ir::Scalar) { return arrays_.at(name); };
    options_.print = [](const std::string&) {};
  }
  RandomInputs(const RandomInputs&) = delete;
  RandomInputs& operator=(const RandomInputs&) = delete;

  [[nodiscard]] const ir::EvalOptions& options() const { return options_; }

 private:
  ir::Array array(const ir::Type& type, std::mt19937_64& random) const {
    ir::Array a;
    a.type = type.scalar;
    std::int64_t count = 1;
    for (const ir::Extent& e : type.shape) {
      a.shape.push_back(e.evaluate([this](ir::ValueId v) { return sizes_.at(v); }));
      count *= a.shape.back();
    }
    for (std::int64_t k = 0; k < count; ++k) {
      // Integers are small and non-negative, so that they can subscript tensors of at least 4 elements.
      if (ir::is_float(type.scalar)) {
        a.floats.push_back(std::round(std::uniform_real_distribution<double>(-4, 4)(random) * 8) / 8);
      } else {
        a.integers.push_back(static_cast<std::int64_t>(random() % (type.scalar == ir::Scalar::kBool ? 2 : 4)));
      }
    }
    return a;
  }

  ir::EvalOptions options_;
  std::map<ir::ValueId, std::int64_t> sizes_;
  std::map<std::string, ir::Array> arrays_;
};

inline bool close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance * (1 + std::max(std::abs(a), std::abs(b)));
}

enum class Rounding : std::uint8_t { kAllowed, kNone };

/// Empty if the results agree, by default up to rounding from reassociated sums; otherwise the difference.
inline std::string difference(const ir::EvalResult& before, const ir::EvalResult& after,
                              Rounding rounding = Rounding::kAllowed) {
  if (before.error.has_value() != after.error.has_value()) {
    return "one run stops: " + (before.error ? before.error->message : after.error->message);
  }
  if (before.error) return "";
  if (before.output_order != after.output_order) return "other outputs";
  for (const auto& [name, a] : before.outputs) {
    const ir::Array& b = after.outputs.at(name);
    if (a.type != b.type || a.shape != b.shape) return name + ": another type or shape";
    if (a.integers != b.integers) return name + ": other integers";
    const double tolerance = rounding == Rounding::kNone ? 0 : a.type == ir::Scalar::kF32 ? 1e-4 : 1e-10;
    for (std::size_t k = 0; k < a.floats.size(); ++k) {
      if (!close(a.floats[k], b.floats[k], tolerance)) {
        return name + "[" + std::to_string(k) + "]: " + std::to_string(a.floats[k]) + " became " +
               std::to_string(b.floats[k]);
      }
    }
  }
  return "";
}

/// Evaluates both programs on several random inputs and checks that they agree.
inline void check_same_meaning(const ir::Program& before, const ir::Program& after) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const RandomInputs inputs(before, seed);
    const std::string found = difference(ir::evaluate(before, inputs.options()), ir::evaluate(after, inputs.options()));
    INFO("seed " << seed << "\n--- before\n" << ir::print(before) << "--- after\n" << ir::print(after));
    CHECK(found == "");
  }
}

inline void check_verified(const ir::Program& program, ir::Gradients gradients = ir::Gradients::kRefused) {
  for (const std::string& problem : ir::verify(program, gradients)) FAIL_CHECK(problem << "\n" << ir::print(program));
}

}  // namespace tdsl::tests
