#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// A dense row-major tensor of the evaluator. Integers and bools are exact in `integers`; floats in `floats`; complex
/// numbers have their real parts in `floats`, their imaginary parts in `imaginary`. `bounds` (same length; empty means
/// all 0) limits the difference between elements and the results of other summation orders:
/// running error bounds through all operations; infinity if the value depends on a comparison that the bound leaves
/// open. Integers and bools only have the bounds 0 and infinity.
struct Array {
  Scalar type = Scalar::kF64;
  std::vector<std::int64_t> shape;
  std::vector<double> floats;
  std::vector<double> imaginary;  ///< complex types, else empty
  std::vector<std::int64_t> integers;
  std::vector<double> bounds;
  bool nonnegative = false;  ///< floats: no rounding in any order can give a negative element
  bool at_least = false;     ///< an input whose file has no explicit shape: extents may be larger, padded with zeros

  [[nodiscard]] std::int64_t size() const;
};

/// A run-time error of the program: the message without location, and the location.
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
  /// The origin of an input, such as a file, for messages; may be empty.
  std::function<std::string(const std::string& name)> origin = {};
  std::function<void(const std::string& name, const Array& value)>
      output;                                          ///< at every `output` outside of blocks; may be empty
  std::function<void(const std::string& line)> print;  ///< one call per `print` statement, without newline
};

struct EvalResult {
  /// Of a series all records, along the first dimension. After an error there are series alone.
  std::map<std::string, Array> outputs;
  std::set<std::string> series;
  std::vector<std::string> output_order;
  std::optional<EvalError> error;
  /// Some `if`, `while`, loop bound, extent or assertion depended on an open value: another summation order may have
  /// taken another path, which the bounds do not cover.
  bool uncertain_control = false;
};

/// The sequential evaluator: the reference semantics of every program. Sums are in index order in the element type.
[[nodiscard]] EvalResult evaluate(const Program& program, const EvalOptions& options);

}  // namespace tdsl::ir
