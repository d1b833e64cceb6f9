#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "runtime/engine/messages/in_flight.h"
#include "runtime/engine/messages/outbox.h"
#include "runtime/engine/messages/wire.h"
#include "runtime/engine/tasks/footprint.h"

namespace tdsl::rt {

// Note [Size first]
// The size of a sized block is unknown until the block is complete. So a request has one of two answers: the block in a
// pack, if it is small or absent, or its size. The requester then grants the transfer: it allocates, posts the receive
// and notifies the owner, which sends. Data never arrives unrequested or unposted, and a grant depends only on the
// sender's holds.
//
// From admission on a piece counts as its expected size (under --memory its largest size). A piece of at most that size
// is granted immediately. A larger one must fit like a step to be admitted, oldest step first, except that grants of
// the least unfinished step are unconditional: README.md explains why that is sufficient and necessary ("Why sizes do
// not deadlock").

/// Transfers of sized blocks: sizes offered to peers, and grants of blocks offered by peers.
class SizedTransfers {
 public:
  SizedTransfers(const Context& context, Footprint& footprint, Outbox& outbox, InFlight& in_flight)
      : context_(context), footprint_(footprint), outbox_(outbox), in_flight_(in_flight) {}

  // On the owner:

  /// Answers with the block or with its size. `cookie` holds the block until the answer completes.
  void offer(const Request& request, const BufferRef& block, std::uint64_t cookie);
  /// The peer has posted the receive of an offered block.
  void take_go(const wire::Go& go);

  // On the requester:

  /// Registers a piece that will be requested; returns the slot of its request.
  [[nodiscard]] Index expect(const std::shared_ptr<RemotePiece>& piece, int source, const plan::Estimate& bytes);
  /// Allocates the piece, whose size is now known; 0: the block is absent.
  void settle(RemotePiece& piece, Index bytes);
  void take_size(const wire::Size& size);
  /// Grants announced pieces for which there is memory, oldest step first. Throws RunError if a piece of the only open
  /// step exceeds the memory.
  void grant(const OpenSteps& steps);

  /// Pieces without a receive so far.
  [[nodiscard]] Index ungranted() const { return ungranted_; }
  /// True if pieces wait for a grant.
  [[nodiscard]] bool any_announced() const { return !announced_.empty(); }
  [[nodiscard]] bool over() const { return announced_.empty() && ungranted_ == 0 && offers_.empty(); }

 private:
  struct Offer {
    Request request;
    BufferRef block;
  };
  [[nodiscard]] bool may_grant(const OpenSteps& steps, const RemotePiece& piece, int source, bool behind) const;
  void require_memory(const OpenSteps& steps, const RemotePiece& piece, Index more) const;

  const Context& context_;
  Footprint& footprint_;
  Outbox& outbox_;
  InFlight& in_flight_;
  std::unordered_map<std::uint64_t, Offer> offers_;  ///< not granted by the peer, by cookie
  std::set<std::pair<Index, Index>> announced_;      ///< pieces to grant: step and slot
  Index ungranted_ = 0;
};

}  // namespace tdsl::rt
