#pragma once

#include <map>
#include <vector>

#include "codegen/nest/nest.h"
#include "ir/eval/eval.h"

namespace tdsl::nest {

/// The inputs of a nest run as one task: all points of its indices, whole operands.
struct Inputs {
  std::map<ValueId, ir::Literal> captures;  ///< and parameters, by variable
  std::map<int, ir::Array> operands;        ///< by number
  ir::Array base;                           ///< of a continued result
  std::map<int, ir::Array> bases{};         ///< for tasks, by result number
  std::uint64_t seed = 0;                   ///< for random numbers
  std::map<int, std::vector<bool>>
      stored{};  ///< for compressed operands, by number: elements that are stored even if they are 0
};

/// Runs the nest statement by statement with the evaluator's arithmetic, including error bounds, and returns the
/// result's elements or, for a function, its value. The nest must have been verified. Throws ir::eval::Stop where the
/// run stops.
[[nodiscard]] ir::Array interpret(const Nest& nest, const Inputs& inputs);
/// The same for a task on whole tensors: its results by number.
[[nodiscard]] std::map<int, ir::Array> interpret_task(const Nest& nest, const Inputs& inputs);

}  // namespace tdsl::nest
