#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "ir/eval/eval.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "runtime/kernels/philox.h"
#include "tests/unit/differentiated.h"

// Derivatives compared with central differences.

namespace tdsl::tests {

/// A program with a scalar output `loss`, and outputs `d_NAME` for its derivatives with respect to inputs NAME.
class GradientCheck {
 public:
  explicit GradientCheck(const std::string& text) : text_(text) {
    frontend::SourceManager sources;
    frontend::DiagnosticSink sink;
    frontend::CompileOptions options;
    options.library_directory = TDSL_SOURCE_DIR "/stdlib";
    options.warn_unused = false;
    const auto program = differentiated(sources, sources.add("test.tdsl", text), sink, options);
    INFO(frontend::render_all(sink, sources));
    INFO(text);
    REQUIRE(program.has_value());
    program_ = *program;
    for (const std::string& problem : ir::verify(program_)) FAIL(problem << "\n" << ir::print(program_));
    options_.dimensions = {{"n", 4}, {"m", 3}, {"k", 2}, {"l", 5}};
    options_.input = [this](const std::string& name, ir::Scalar) { return inputs_.at(name); };
    make_inputs();
  }

  /// Inputs called p… are positive, c… small integers, all others of both signs.
  void run() {
    INFO(text_);
    INFO(ir::print(program_));
    const ir::EvalResult result = evaluate();
    int checked = 0;
    for (auto& [key, input] : inputs_) {
      const std::string& name = key;  // clang 14 cannot capture structured bindings in lambdas
      const auto derivative = result.outputs.find("d_" + name);
      if (derivative == result.outputs.end()) continue;
      ++checked;
      CHECK(derivative->second.shape == input.shape);
      for (std::size_t k = 0; k < input.floats.size(); ++k) {
        INFO(name << " element " << k);
        const double given = derivative->second.floats.at(k);
        double expected = difference(input.floats[k], 1e-3);
        if (!agree(given, expected)) expected = difference(input.floats[k], 1e-4);  // where the loss has high curvature
        INFO("given " << given << ", expected " << expected);
        CHECK(agree(given, expected));
      }
    }
    CHECK(checked > 0);
  }

  [[nodiscard]] const ir::Program& program() const { return program_; }

 private:
  void make_inputs() {
    ir::for_each_node(program_.body, [this](const ir::Node& n) {
      const auto* i = std::get_if<ir::Input>(&n.op);
      if (i == nullptr) return;
      const ir::Type& type = program_.type(n.results[0]);
      ir::Array a;
      a.type = type.scalar;
      for (const ir::Extent& e : type.shape) {
        a.shape.push_back(e.evaluate([this](ir::ValueId v) { return options_.dimensions.at(program_.info(v).name); }));
      }
      const auto stream = rt::random_stream(17, inputs_.size(), {});
      for (std::int64_t k = 0; k < a.size(); ++k) {
        const double u = rt::uniform_f64(stream, static_cast<std::uint64_t>(k));
        if (!ir::is_float(type.scalar)) {
          a.integers.push_back(static_cast<std::int64_t>(u * 3));
        } else {
          a.floats.push_back(i->name[0] == 'p' ? 0.5 + u : 2 * u - 1);
        }
      }
      inputs_.emplace(i->name, std::move(a));
    });
  }

  ir::EvalResult evaluate() {
    ir::EvalResult result = ir::evaluate(program_, options_);
    REQUIRE((result.error ? result.error->message : "") == "");
    return result;
  }

  static bool agree(double a, double b) { return std::fabs(a - b) <= 1e-6 * (1 + std::fabs(b)); }

  /// Five-point central difference of the loss.
  double difference(double& x, double h) {
    const double at = x;
    const auto loss = [&](double offset) {
      x = at + offset;
      const double value = evaluate().outputs.at("loss").floats.at(0);
      x = at;
      return value;
    };
    return (8 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12 * h);
  }

  std::string text_;
  ir::Program program_;
  ir::EvalOptions options_;
  std::map<std::string, ir::Array> inputs_;
};

}  // namespace tdsl::tests
