#pragma once

#include <unordered_map>
#include <vector>

#include "runtime/engine/messages/leases.h"
#include "runtime/engine/messages/lists.h"
#include "runtime/engine/messages/relays.h"
#include "runtime/engine/messages/sized_transfers.h"
#include "runtime/engine/store/disk_transfers.h"

namespace tdsl::rt {

/// Peers' requests for blocks of this rank and for pieces that it relays.
class Answers {
 public:
  Answers(Context& context, Outbox& outbox, InFlight& in_flight, SizedTransfers& sized, DiskTransfers& disk,
          Relays& relays, const Lists& lists, Leases& leases)
      : context_(context),
        outbox_(outbox),
        in_flight_(in_flight),
        sized_(sized),
        disk_(disk),
        relays_(relays),
        lists_(lists),
        leases_(leases) {}

  /// Counts the requests that the operation's peers will send for its operands.
  void expect(const OperationRun& operation);
  /// Answers a request, now or once its block or piece is complete.
  void take(const Request& request);
  /// Handles requests that arrived before this rank submitted the tensor's operation.
  void take_early(plan::TensorId tensor);
  /// Answers a request for a complete block.
  void answer(TensorInstance& tensor, const Request& request);
  /// Answers a request with a box read from disk for it.
  void answer(const DiskTransfer& read);
  /// Sends the relay's piece, which has arrived, to a child.
  void forward(Relay& relay, const Request& request);
  [[nodiscard]] bool any_early() const { return !early_.empty(); }

 private:
  void take_relayed(const Request& request);
  void answer_by_list(TensorInstance& tensor, const Block& block, const Request& request);

  Context& context_;
  Outbox& outbox_;
  InFlight& in_flight_;
  SizedTransfers& sized_;
  DiskTransfers& disk_;
  Relays& relays_;
  const Lists& lists_;
  Leases& leases_;
  std::unordered_map<plan::TensorId, std::vector<Request>> early_;
};

}  // namespace tdsl::rt
