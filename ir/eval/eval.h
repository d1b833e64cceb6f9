#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// A dense tensor in row-major order as the evaluator sees it. Integers and bools are exact in `integers`; floats in
/// `floats`. `bounds` (same length; empty means that all are 0) is how far another order of summation may land from
/// `floats`: running error bounds through all operations; infinity where the value depends on a comparison that the
/// bound leaves open. Integers and bools have the bounds 0 and infinity only.
struct Array {
  Scalar type = Scalar::kF64;
  std::vector<std::int64_t> shape;
  std::vector<double> floats;
  std::vector<std::int64_t> integers;
  std::vector<double> bounds;
  bool nonnegative = false;  ///< floats: no rounding of any order can give a negative element
  bool at_least = false;     ///< an input whose file does not say its shape: extents may be larger, with zeros there

  [[nodiscard]] std::int64_t size() const;
};

/// A run-time error of the program: the message without place, and the place.
struct EvalError {
  SourceRange range;
  std::string message;
};

struct EvalOptions {
  std::uint64_t seed = 0;
  std::map<std::string, Literal> params;
  std::map<std::string, std::int64_t> dimensions;  ///< `--set n=...`
  /// Reads an input: declared name and element type -> array (bounds empty = exact).
  std::function<Array(const std::string& name, Scalar type)> input;
  /// Where an input comes from, for messages, such as a file; may be empty.
  std::function<std::string(const std::string& name)> origin = {};
  std::function<void(const std::string& name, const Array& value)>
      output;                                          ///< at every `output` statement; may be empty
  std::function<void(const std::string& line)> print;  ///< one call per `print` statement, without newline
};

struct EvalResult {
  std::map<std::string, Array> outputs;
  std::vector<std::string> output_order;
  std::optional<EvalError> error;
  /// Some `if`, `while`, loop bound, extent or assertion depended on a value that its bound leaves open: another order
  /// of summation may have taken another way, and the bounds do not cover that.
  bool uncertain_control = false;
};

/// The sequential evaluator: defines the meaning of every program. Sums are in index order in the element type.
[[nodiscard]] EvalResult evaluate(const Program& program, const EvalOptions& options);

}  // namespace tdsl::ir
