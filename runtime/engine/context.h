#pragma once

#include <mutex>
#include <utility>

#include "runtime/engine/engine.h"
#include "runtime/engine/store/tensor_table.h"

namespace tdsl::rt {

using Lock = std::unique_lock<std::mutex>;

/// The rank of an engine: world, memory, options, clock and tensors, shared by all parts of the engine.
struct Context {
  Context(World& w, Store& s, EngineOptions o)
      : world(w), store(s), options(std::move(o)), me(w.rank()), tensors(w.rank()) {}

  World& world;
  Store& store;
  EngineOptions options;
  const int me;
  const double began = world.now();
  TensorTable tensors;
  mutable std::mutex mutex;  ///< protects all parts of the engine; kernels, copies and MPI run outside it

  /// Seconds since the start of the engine.
  [[nodiscard]] double now() const { return world.now() - began; }
  [[nodiscard]] bool single() const { return world.size() == 1; }
};

}  // namespace tdsl::rt
