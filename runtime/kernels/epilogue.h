#pragma once

#include <span>
#include <utility>

#include "runtime/kernels/task.h"
#include "runtime/types.h"

namespace tdsl::rt {

/// An element-wise transformation of a completed block in place: the kernel of a map that reads the block as its first
/// operand. Its labels are the dimensions of the result, from 0 on.
class Epilogue {
 public:
  /// Null: no epilogue.
  explicit Epilogue(Kernel map) : map_(std::move(map)) {}
  explicit operator bool() const { return static_cast<bool>(map_); }

  /// Transforms a part of the block. `operands`: the map's other operands.
  void run(const TaskArgs& task, std::span<const Operand> operands, const Box& part) const;
  /// Transforms the whole block.
  void run_by_rows(const TaskArgs& task, std::span<const Operand> operands) const;

 private:
  Kernel map_;
};

/// The epilogue applied to zeros.
[[nodiscard]] Kernel epilogue_of_zeros(ElementType type, const Epilogue& epilogue);

/// The kernel, which reads only the first operand, followed by the epilogue once a block is complete.
[[nodiscard]] Kernel followed_by(Kernel kernel, const Epilogue& epilogue);

}  // namespace tdsl::rt
