#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "runtime/engine/messages/in_flight.h"
#include "runtime/engine/tasks/footprint.h"
#include "runtime/engine/tasks/operation.h"
#include "runtime/engine/watch/profile.h"

namespace tdsl::rt {

// Note [Away]
// A block whose home is not memory is in one of three states: being computed; complete, with a buffer, while it is
// written; away, without a buffer. Tasks of this rank never read its buffer: their step fetches a piece, as from
// another rank's block, which counts in the step's footprint; the read starts when the block is away. A peer's request
// is answered from the buffer while it exists, later from a box read for this request alone. At most two such boxes are
// in memory, in space reserved by admission: they wait only for the disk and for the peer's receive, which is posted.
// So a request for a complete block is always answered, as the protocol requires (README.md, "Why trees do not
// deadlock"). The least step may wait for memory that the disk is about to free; no transfer waits for a step.

/// Blocks whose home is not memory: written once complete, read in pieces from the disk or from an input's file.
class DiskTransfers {
 public:
  DiskTransfers(Context& context, Footprint& footprint, SiteCounts& profile)
      : context_(context), footprint_(footprint), profile_(profile) {}

  /// Leaves an input, whose operation is being submitted, in its file: all its blocks except the resident ones are
  /// away.
  void leave_in_file(TensorInstance& tensor, const OperationRun& operation);
  /// Writes a complete block.
  void write_back(TensorInstance& tensor, Index number);
  /// Reads a piece of the block once the block is away.
  void load(TensorInstance& tensor, const std::shared_ptr<RemotePiece>& piece, Index number);
  /// Reads a box that a peer has requested, after previously requested ones.
  void serve(TensorInstance& tensor, const Request& request);
  /// The peer has received the box in `buffer`.
  void end_serve(BufferRef buffer);
  /// An answer has been sent from the buffer of a block that has become away.
  void end_send_of_away() { --sends_of_away_; }

  /// Removes and returns a completed transfer.
  [[nodiscard]] DiskTransfer take(std::uint64_t cookie);
  /// The block has been written: starts the reads of pieces that wait for it.
  void end_write(const DiskTransfer& transfer);

  /// True if the disk will free memory, or peers that have requested blocks that are away.
  [[nodiscard]] bool hold_memory() const;
  [[nodiscard]] bool empty() const { return transfers_.empty(); }

 private:
  void serve_next();
  void begin_read(DiskTransfer transfer, const Box& box);
  [[nodiscard]] std::uint64_t enter(DiskTransfer transfer);

  Context& context_;
  Footprint& footprint_;
  SiteCounts& profile_;
  CookieTable<DiskTransfer> transfers_;
  Index writes_ = 0;         ///< in progress
  Index sends_of_away_ = 0;  ///< answers in flight from buffers of blocks that have become away
  std::deque<std::pair<TensorInstance*, Request>> to_serve_;
  Index serving_ = 0;  ///< boxes for peers being read or sent
};

}  // namespace tdsl::rt
