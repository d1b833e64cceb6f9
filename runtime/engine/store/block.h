#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/disk/extents.h"
#include "runtime/engine/store/store.h"
#include "runtime/plan/op.h"

namespace tdsl::rt {

struct TaskRun;
struct RemotePiece;

/// A peer's request for a box of an own block; the answer goes to the peer's receive `slot`.
struct Request {
  plan::TensorId tensor = -1;
  plan::Index block = 0;
  plan::Box box;
  int rank = 0;                ///< requester
  plan::Index operation = -1;  ///< for a relay's copy: the operation (numbered as submitted) and super-block that fetch
                               ///< it; -1: the owner's block
  plan::Index super_block = 0;
  bool in_place = false;     ///< reads the block's memory instead of receiving the box (Note [Shared windows])
  plan::Index list = -1;     ///< the requester's list of the box's rows; -1: the whole box
  plan::Index slot = 0;      ///< tag of the answer; for a box in a pack, the requester's identifier of it
  int site = 0;              ///< site whose statistics count the answer
  std::uint32_t number = 0;  ///< number among the requester's requests, from 1 on
};

/// An owned block of a tensor. It has a buffer from the first panel of its task on and is complete after the last; a
/// sized one that is complete without a buffer is absent. Held by the tensor's name and the operations not fully
/// admitted (counted per tensor), and by the four counts here.
struct Block {
  BufferRef buffer;
  bool complete = false;
  bool away = false;         ///< complete, and no longer in memory: its elements are in `extent` on the disk, or in the
                             ///< tensor's own file
  ExtentRef extent;          ///< set when the block is complete
  plan::Index uses = 0;      ///< operands of admitted, unfinished tasks of this rank
  plan::Index requests = 0;  ///< expected from peers and not answered; negative while a peer is ahead of this rank
  plan::Index sends = 0;     ///< answers in flight
  plan::Index transfers = 0;                                ///< to and from the disk, including waiting ones
  std::vector<TaskRun*> waiting_tasks;                      ///< start when the block is complete
  std::vector<Request> waiting_requests;                    ///< answered when the block is complete
  std::vector<std::shared_ptr<RemotePiece>> waiting_loads;  ///< start when the block is away

  [[nodiscard]] bool unheld() const { return complete && uses == 0 && requests == 0 && sends == 0 && transfers == 0; }
};

}  // namespace tdsl::rt
