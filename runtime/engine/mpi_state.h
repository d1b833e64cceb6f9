#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "runtime/engine/mpi_world.h"

/// What World and its Access share; only engine/mpi_*.cpp include it.
namespace tdsl::rt {

/// An operation the caller waits for: one MPI request per piece.
struct PendingOperation {
  std::uint64_t cookie = 0;
  bool received = false;
  std::size_t pieces = 0;  // still under way
};

/// What belongs to one MPI request.
struct PendingPiece {
  std::size_t operation = 0;  // index into State::operations
  std::int64_t bytes = -1;    // expected, for receives
  StatementId statement = kNoStatement;
};

/// A control message on its way out; its bytes live until MPI has taken them.
struct OutgoingControl {
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<std::byte> bytes;
};

struct World::State {
  int rank = 0;
  int size = 1;
  bool uses_mpi = false;
  bool owns_mpi = false;
  int max_tag = std::numeric_limits<int>::max();
  MPI_Comm data = MPI_COMM_NULL;
  MPI_Comm control = MPI_COMM_NULL;
  Topology topology;
  mutable std::mutex mutex;  // whoever holds it may talk to MPI

  std::vector<MPI_Request> requests;  // parallel to `pieces`
  std::vector<PendingPiece> pieces;
  std::vector<PendingOperation> operations;
  std::vector<std::size_t> free_operations;
  std::vector<int> indices;  // scratch of test_some
  std::vector<MPI_Status> statuses;
  std::string wrong_size;            // of a received message, for test_some to report
  std::vector<Completion> finished;  // without a request: the barrier of a single rank
  std::deque<OutgoingControl> outgoing;
  std::deque<ControlMessage> to_self;

  Traffic total;
  std::vector<Traffic> statements;

  template <class F>
  void count(StatementId statement, F&& add) {
    add(total);
    if (statement == kNoStatement) {
      return;
    }
    const auto index = static_cast<std::size_t>(statement);
    if (index >= statements.size()) {
      statements.resize(index + 1);
    }
    add(statements[index]);
  }

  std::size_t begin_operation(std::uint64_t cookie, bool received, std::size_t piece_count) {
    std::size_t index = operations.size();
    if (free_operations.empty()) {
      operations.emplace_back();
    } else {
      index = free_operations.back();
      free_operations.pop_back();
    }
    operations[index] = {cookie, received, piece_count};
    return index;
  }

  void add_request(MPI_Request request, const PendingPiece& piece) {
    requests.push_back(request);
    pieces.push_back(piece);
  }

  void check_peer(int peer, int tag) const {
    TDSL_CHECK(0 <= peer && peer < size && peer != rank, "data goes to another rank");
    TDSL_CHECK(0 <= tag && tag <= max_tag, "a tag MPI can carry");
  }

  /// Starts MPI unless somebody has, and fills in everything above `mutex`.
  void start();
  void find_nodes();
  /// Books the end of request `index`; reports its operation when this was its last piece.
  void finish_request(std::size_t index, const MPI_Status& status, std::vector<Completion>& done);
  /// Forgets control messages that MPI has taken.
  void drop_sent_control();
};

}  // namespace tdsl::rt
