#pragma once

#include <span>
#include <utility>

#include "runtime/kernels/task.h"
#include "runtime/types.h"

namespace tdsl::rt {

/// What a complete block is turned into, element by element, where it lies: the kernel of a map that reads the block as
/// its first operand. Its labels are the dimensions of the result, from 0 on.
class Epilogue {
 public:
  /// Null: there is none.
  explicit Epilogue(Kernel map) : map_(std::move(map)) {}
  explicit operator bool() const { return static_cast<bool>(map_); }

  /// Of a part of the block. `operands`: the others that the map reads.
  void run(const TaskArgs& task, std::span<const Operand> operands, const Box& part) const;
  /// Of all of it.
  void run_by_rows(const TaskArgs& task, std::span<const Operand> operands) const;

 private:
  Kernel map_;
};

/// The epilogue of zeros.
[[nodiscard]] Kernel epilogue_of_zeros(ElementType type, const Epilogue& epilogue);

/// The kernel, which reads the first operand alone, and where a block is complete the epilogue.
[[nodiscard]] Kernel followed_by(Kernel kernel, const Epilogue& epilogue);

}  // namespace tdsl::rt
