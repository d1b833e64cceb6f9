#pragma once

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/eval/eval.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "runtime/message_id.h"

namespace tdsl::tests {

inline ir::Array floats(std::vector<std::int64_t> shape, std::vector<double> values) {
  ir::Array a;
  a.shape = std::move(shape);
  a.floats = std::move(values);
  return a;
}

inline ir::Array integers(std::vector<std::int64_t> shape, std::vector<std::int64_t> values) {
  ir::Array a;
  a.type = ir::Scalar::kI64;
  a.shape = std::move(shape);
  a.integers = std::move(values);
  return a;
}

using Inputs = std::map<std::string, ir::Array>;

/// Verifies and evaluates a program in text form (without its first line).
inline ir::EvalResult run(const std::string& nodes, const Inputs& inputs = {}, ir::EvalOptions options = {}) {
  const ir::Program program = ir::parse("program \"test\"\n" + nodes);
  for (const std::string& problem : ir::verify(program)) FAIL_CHECK(problem);
  options.input = [&](const std::string& name, ir::Scalar type) {
    ir::Array a = inputs.at(name);
    a.type = type;
    return a;
  };
  return ir::evaluate(program, options);
}

/// Options that require every `print` to give this line.
inline ir::EvalOptions expecting(const std::string& expected) {
  ir::EvalOptions options;
  options.print = [expected](const std::string& line) { CHECK(line == expected); };
  return options;
}

/// The error's message, or the empty string.
inline std::string error_of(const ir::EvalResult& result) {
  return result.error ? rt::without_id(result.error->message) : "";
}

/// The bound of one element.
inline double bound_of(const ir::Array& a, std::size_t position) { return a.bounds.empty() ? 0.0 : a.bounds[position]; }

}  // namespace tdsl::tests
