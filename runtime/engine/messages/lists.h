#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/engine/messages/in_flight.h"
#include "runtime/engine/messages/outbox.h"
#include "runtime/engine/tasks/footprint.h"
#include "runtime/engine/watch/profile.h"

namespace tdsl::rt {

// Note [Requests by lists]
// Which rows of a dense operand the elements of a compressed one meet (plan/lists.h) is found once per compressed
// tensor, by an inspection: a task of the first step that needs it, once the tensor's own blocks are complete. Requests
// for such an operand wait for it. A piece of which the rank needs under half of the rows is then requested by a list,
// which the owner receives once and keeps; any other piece is requested as usual. The answer has the list's rows,
// packed.
//
// Blocks of the compressed tensor are results of older operations. So the inspection of the least unfinished step can
// run, and its requests are sent: the arguments against deadlock (README.md) hold.

/// The rows of a dense operand that some blocks of a compressed tensor meet.
struct Meetings {
  struct Key {
    plan::TensorId tensor = -1;
    int dimension = 0;
    Index offset = 0;
    std::vector<Index> blocks;  ///< ascending
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Waiting {
    std::shared_ptr<RemotePiece> piece;
    Request request;
    Index element_bytes = 0;
  };
  /// The part of an owner's block. Without rows: the whole is requested.
  struct List {
    Index name = -1;  ///< known to the owner
    RowListRef rows;
  };

  Key key;
  bool found = false;
  RowListRef all;
  std::map<Index, RowListRef> of_block;
  std::map<std::tuple<Index, Index, int>, List> lists;  ///< by range of rows and owner
  std::vector<Waiting> waiting;                         ///< requests before `found`
};

/// Requests by lists: the lists of this rank, and those that peers have sent.
class Lists {
 public:
  Lists(Context& context, Footprint& footprint, Outbox& outbox, InFlight& in_flight, SiteCounts& profile)
      : context_(context), footprint_(footprint), outbox_(outbox), in_flight_(in_flight), profile_(profile) {}

  // On the requester:

  /// The rows that the operation meets through an access, for all its tasks on this rank; null if not all of the
  /// compressed blocks are in this rank's memory, or under --memory, whose plan has no room for lists.
  [[nodiscard]] std::shared_ptr<Meetings> meetings_of(OperationRun& operation, std::size_t read);
  /// Removes and returns the meetings to be inspected, with the access of the compressed tensor.
  [[nodiscard]] std::vector<std::pair<std::shared_ptr<Meetings>, std::size_t>> take_new() {
    return std::exchange(new_, {});
  }
  /// Inspects complete blocks, without the lock.
  static void inspect(Meetings& meetings, const std::vector<BlockPart>& blocks);
  /// After the inspection: sends the waiting requests.
  void end_inspection(Meetings& meetings);
  /// The request, prepared; nothing if it has to wait for the inspection, during which its piece counts as `bytes`.
  [[nodiscard]] std::optional<Request> ask(Meetings& meetings, Meetings::Waiting waiting, const plan::Estimate& bytes);
  /// Prepares for the answer of a box, which the piece's buffer will hold; returns the slot of its request.
  [[nodiscard]] Index expect(const std::shared_ptr<RemotePiece>& piece, Index element_bytes);
  /// Pieces whose requests wait.
  [[nodiscard]] Index waiting() const { return waiting_; }

  // On the owner:

  void take(const ControlMessage& message);
  /// The rows that the request asks for.
  [[nodiscard]] RowListRef rows_of(const Request& request) const;

  /// At the end of the run.
  void clear();

 private:
  [[nodiscard]] std::shared_ptr<Meetings> find(const OperationRun& operation, std::size_t read);
  void drop_dead();
  void prepare(Meetings& meetings, Meetings::Waiting& waiting);
  void find_list(const Meetings& meetings, Meetings::List& list, const RemotePiece& piece);

  Context& context_;
  Footprint& footprint_;
  Outbox& outbox_;
  InFlight& in_flight_;
  SiteCounts& profile_;
  std::map<Meetings::Key, std::shared_ptr<Meetings>> meetings_;
  std::vector<std::pair<std::shared_ptr<Meetings>, std::size_t>> new_;
  std::map<int, std::vector<Index>> dropped_;  ///< lists that owners no longer need, by rank
  std::map<std::pair<int, Index>, RowListRef> of_peers_;
  Index next_name_ = 0;
  Index waiting_ = 0;
};

}  // namespace tdsl::rt
