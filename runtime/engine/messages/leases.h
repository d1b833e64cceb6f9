#pragma once

#include <map>
#include <memory>

#include "runtime/engine/messages/in_flight.h"
#include "runtime/engine/messages/outbox.h"
#include "runtime/engine/watch/profile.h"
#include "runtime/plan/steps/in_place.h"

namespace tdsl::rt {

/// Boxes that ranks of a node read in the memory of their owner (Note [Shared windows]).
class Leases {
 public:
  Leases(Context& context, Outbox& outbox, InFlight& in_flight, SiteCounts& profile)
      : context_(context), outbox_(outbox), in_flight_(in_flight), profile_(profile) {}

  /// True if this rank, with this place in the piece's tree, reads the fetched piece in place.
  [[nodiscard]] bool apply(const TensorInstance& tensor, const plan::Fetch& fetch, const plan::TreePlace& place) const;
  /// Prepares for the answer to the piece's request; returns the slot of the request.
  [[nodiscard]] Index expect(const std::shared_ptr<RemotePiece>& piece);
  /// A piece that this rank has requested can be read. Its lease ends with the piece.
  [[nodiscard]] std::shared_ptr<RemotePiece> take(int owner, const wire::Lease& lease);
  /// Answers a request for a box of a block of this rank, which must not change until the message `number` ends.
  void lend(const Request& request, const std::byte* box, Index bytes, std::uint64_t number);

  /// Bytes that other ranks have read in place, by site.
  [[nodiscard]] Index lent(int site) const;

 private:
  Context& context_;
  Outbox& outbox_;
  InFlight& in_flight_;
  SiteCounts& profile_;
  std::map<int, Index> lent_;  ///< a peer may be ahead: the site may have no counts yet
};

}  // namespace tdsl::rt
