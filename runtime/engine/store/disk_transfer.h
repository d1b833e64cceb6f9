#pragma once

#include <cstdint>
#include <memory>

#include "runtime/engine/tasks/operation.h"

namespace tdsl::rt {

/// A block being written, or a part of one being read.
struct DiskTransfer {
  enum class Kind : std::uint8_t {
    kWrite,
    kLoad,  ///< of a piece for this rank's tasks
    kServe  ///< of a box that a peer has requested
  } kind = Kind::kWrite;
  TensorInstance* tensor = nullptr;
  Index block = 0;
  BufferRef buffer{};
  std::shared_ptr<RemotePiece> piece{};  ///< kLoad
  Request request{};                     ///< kServe
};

}  // namespace tdsl::rt
