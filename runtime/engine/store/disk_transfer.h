#pragma once

#include <cstdint>
#include <memory>

#include "runtime/engine/tasks/operation.h"

namespace tdsl::rt {

/// A block being written, or part of a block being read.
struct DiskTransfer {
  enum class Kind : std::uint8_t {
    kWrite,
    kLoad,  ///< reads a piece for this rank's tasks
    kServe  ///< reads a box that a peer has requested
  } kind = Kind::kWrite;
  TensorInstance* tensor = nullptr;
  Index block = 0;
  BufferRef buffer{};
  std::shared_ptr<RemotePiece> piece{};  ///< kLoad
  Request request{};                     ///< kServe
};

}  // namespace tdsl::rt
