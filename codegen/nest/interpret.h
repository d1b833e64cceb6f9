#pragma once

#include <map>
#include <vector>

#include "codegen/nest/nest.h"
#include "ir/eval/eval.h"

namespace tdsl::nest {

/// What a nest runs on, as one task: all points of its indices, whole operands.
struct Inputs {
  std::map<ValueId, ir::Literal> captures;  ///< and parameters, by variable
  std::map<int, ir::Array> operands;        ///< by number
  ir::Array base;                           ///< of a result that is continued
  std::map<int, ir::Array> bases{};         ///< of a task, by number of the result
  std::uint64_t seed = 0;                   ///< of random numbers
  std::map<int, std::vector<bool>>
      stored{};  ///< of compressed operands, by number: elements that are stored even where they are 0
};

/// Runs the nest statement by statement with the evaluator's arithmetic, error bounds included, and gives the result's
/// elements or, of a function, its value. The nest has been verified. Throws ir::eval::Stop where the run stops.
[[nodiscard]] ir::Array interpret(const Nest& nest, const Inputs& inputs);
/// The same of a task on whole tensors: its results by their numbers.
[[nodiscard]] std::map<int, ir::Array> interpret_task(const Nest& nest, const Inputs& inputs);

}  // namespace tdsl::nest
