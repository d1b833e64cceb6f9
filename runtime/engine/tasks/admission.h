#pragma once

#include "runtime/engine/messages/lists.h"
#include "runtime/engine/messages/relays.h"
#include "runtime/engine/messages/sized_transfers.h"
#include "runtime/engine/store/disk_transfers.h"
#include "runtime/engine/tasks/footprint.h"

namespace tdsl::rt {

/// Open steps of this rank, and whether the next one fits window and memory in addition.
class Admission {
 public:
  Admission(const Context& context, const Footprint& footprint, const InFlight& in_flight, const SizedTransfers& sized,
            const DiskTransfers& disk, const Relays& relays, const Lists& lists)
      : context_(context),
        footprint_(footprint),
        in_flight_(in_flight),
        sized_(sized),
        disk_(disk),
        relays_(relays),
        lists_(lists) {}

  /// True if the operation's next step may start. Throws RunError if it runs alone and needs more memory than the
  /// system has.
  [[nodiscard]] bool fits(const OperationRun& operation) const;
  /// Opens the operation's next step; returns its number.
  [[nodiscard]] Index begin(const OperationRun& operation);
  /// The open step gets an inspection (messages/lists.h).
  void add_task(Index step) { steps_.add_task(step); }
  void end_task(Index step) { steps_.end_task(step); }
  [[nodiscard]] const OpenSteps& steps() const { return steps_; }

 private:
  [[nodiscard]] bool peers_hold_memory(const OperationRun& next) const;

  const Context& context_;
  const Footprint& footprint_;
  const InFlight& in_flight_;
  const SizedTransfers& sized_;
  const DiskTransfers& disk_;
  const Relays& relays_;
  const Lists& lists_;
  OpenSteps steps_;
  Index largest_assembly_ = 0;  ///< largest number of bytes assembled by a task of the open steps
};

}  // namespace tdsl::rt
