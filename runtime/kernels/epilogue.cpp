#include "runtime/kernels/epilogue.h"

#include <algorithm>
#include <vector>

#include "runtime/kernels/progress.h"

namespace tdsl::rt {

void Epilogue::run(const TaskArgs& task, std::span<const Operand> operands, const Box& part) const {
  if (part.volume() == 0) return;
  std::vector<Operand> inputs{task.outputs[0]};
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  TaskArgs map;
  map.labels = {part.dim.data(), static_cast<std::size_t>(part.rank)};
  map.inputs = inputs;
  map.outputs = task.outputs;
  map.out_box = part;
  map_(map);
}

void Epilogue::run_by_rows(const TaskArgs& task, std::span<const Operand> operands) const {
  constexpr Index kPointsAtOnce = Index{1} << 20;
  Box part = task.out_box;
  const Interval rows = part[0];
  const Index step =
      std::max<Index>(1, kPointsAtOnce / std::max<Index>(part.volume() / std::max<Index>(rows.size(), 1), 1));
  for (Index from = rows.lo; from < rows.hi; from += step) {
    part[0] = {from, std::min(from + step, rows.hi)};
    run(task, operands, part);
    progress::pause();
  }
}

Kernel epilogue_of_zeros(ElementType type, const Epilogue& epilogue) {
  return [type, epilogue](const TaskArgs& args) {
    visit_element_type(type, [&](auto tag) { fill(args.outputs[0], typename decltype(tag)::type{}); });
    epilogue.run_by_rows(args, args.inputs);
  };
}

Kernel followed_by(Kernel kernel, const Epilogue& epilogue) {
  if (!epilogue) return kernel;
  return [kernel = std::move(kernel), epilogue](const TaskArgs& args) {
    TaskArgs alone = args;
    alone.inputs = args.inputs.first(1);
    kernel(alone);
    if (args.last) epilogue.run_by_rows(args, args.inputs.subspan(1));
  };
}

}  // namespace tdsl::rt
