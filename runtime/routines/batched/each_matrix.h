#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/routines/batched/walk.h"
#include "runtime/routines/kernels/columns.h"

namespace tdsl::rt::routines::kernels {

/// The operand's dimensions behind the batch's.
[[nodiscard]] inline Operand without_batch(const Operand& operand, int batch) {
  Operand matrix;
  matrix.data = operand.data;
  matrix.box.rank = operand.box.rank - batch;
  for (int d = 0; d < matrix.box.rank; ++d) {
    matrix.box[d] = operand.box[d + batch];
    matrix.stride[plan::idx(d)] = operand.stride[plan::idx(d + batch)];
  }
  return matrix;
}

/// A kernel of one matrix, called for each one of a task. Element sizes in bytes are those of all inputs and of the
/// output.
inline Kernel each_matrix(Kernel kernel, int batch, std::size_t input_size, std::size_t output_size) {
  return [=, kernel = std::move(kernel)](const TaskArgs& t) {
    std::vector<Operand> inputs;
    for (const Operand& in : t.inputs) inputs.push_back(without_batch(in, batch));
    Operand output = without_batch(t.outputs[0], batch);
    TaskArgs one = t;
    one.labels = t.labels.subspan(static_cast<std::size_t>(batch));
    one.inputs = inputs;
    one.outputs = {&output, 1};
    one.out_box = output.box;
    for (BatchWalk walk(t, batch); !walk.done(); walk.next()) {
      for (std::size_t k = 0; k < inputs.size(); ++k)
        inputs[k].data = t.inputs[k].data + walk.offset(t.inputs[k]) * static_cast<Index>(input_size);
      output.data = t.outputs[0].data + walk.offset(t.outputs[0]) * static_cast<Index>(output_size);
      try {
        kernel(one);
      } catch (const NoSolution& e) { throw NoSolution(e.place, e.routine, e.reason, walk.text()); }
    }
  };
}

}  // namespace tdsl::rt::routines::kernels
