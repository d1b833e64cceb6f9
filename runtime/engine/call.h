#pragma once

#include <vector>

#include "runtime/engine/engine_state.h"

namespace tdsl::rt {

/// A task about to run: what its kernel is called with, and what must be copied before.
struct Engine::State::Call {
  /// A box put together from parts of several blocks.
  struct Assembly {
    Operand whole;
    Index element_bytes = 0;
    std::vector<Operand> parts;
    BufferRef buffer;  ///< of the whole, if it is ours alone
  };
  /// One call of the kernel.
  struct Run {
    std::vector<Interval> labels;
    std::vector<Operand> inputs;
  };
  std::vector<Run> runs;  ///< empty: the operation writes nothing here
  std::vector<Operand> outputs;
  std::vector<Assembly> assemblies;
  const Block* taken = nullptr;  ///< the base's block whose buffer becomes the output's: other reads of it are copied first
  bool fresh = false;
};

}  // namespace tdsl::rt
