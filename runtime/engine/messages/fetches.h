#pragma once

#include <cstdint>
#include <memory>

#include "runtime/engine/messages/leases.h"
#include "runtime/engine/messages/lists.h"
#include "runtime/engine/messages/relays.h"
#include "runtime/engine/messages/sized_transfers.h"
#include "runtime/engine/store/disk_transfers.h"
#include "runtime/plan/steps/tree.h"

namespace tdsl::rt {

// Note [Trees]
// Note [Trees]
// If many ranks (or several of another node) fetch the same piece in the same step (operation, super-block, panel),
// each requests it not from the owner but from its parent in a tree. The parent fetches it in the same step and keeps
// it until its children have received it. Under --window and --memory the least step may wait for such copies;
// README.md explains why they are always requested ("Why trees do not deadlock").

/// Requests the pieces of steps: posts receives, sends requests, starts reads of own blocks that are away.
class Fetches {
 public:
  Fetches(Context& context, Footprint& footprint, Outbox& outbox, SizedTransfers& sized, DiskTransfers& disk,
          Relays& relays, Lists& lists, Leases& leases)
      : context_(context),
        footprint_(footprint),
        outbox_(outbox),
        sized_(sized),
        disk_(disk),
        relays_(relays),
        lists_(lists),
        leases_(leases) {}

  /// Fetches the pieces of the operation's next step, numbered `step` as admitted.
  void fetch(OperationRun& operation, Index step);

 private:
  [[nodiscard]] std::shared_ptr<RemotePiece> make_piece(const plan::Fetch& fetch, const OperationRun& operation,
                                                        int source, Index step, bool buffered = true);
  [[nodiscard]] Index expect(const std::shared_ptr<RemotePiece>& piece, const plan::Fetch& fetch,
                             const TensorInstance& tensor);

  Context& context_;
  Footprint& footprint_;
  Outbox& outbox_;
  SizedTransfers& sized_;
  DiskTransfers& disk_;
  Relays& relays_;
  Lists& lists_;
  Leases& leases_;
  std::uint32_t requests_ = 0;
};

}  // namespace tdsl::rt
