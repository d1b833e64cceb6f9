#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "runtime/engine/link.h"
#include "runtime/engine/mpi/mpi_table.h"

/// The link over MPI; included only by engine/mpi/mpi_*.cpp. Without a launcher it has one rank and never calls MPI.
namespace tdsl::rt {

/// An operation in progress: one MPI request per piece.
struct PendingOperation {
  std::uint64_t cookie = 0;
  bool received = false;
  std::size_t pieces = 0;  // not completed
};

/// Data of one MPI request.
struct PendingPiece {
  std::size_t operation = 0;  // index into State::operations
  std::int64_t bytes = -1;    // expected, for receives
  StatementId statement = kNoStatement;
};

/// A control message being sent; its bytes live until MPI has sent them.
struct OutgoingControl {
  MpiHandle request = mpi().request_null;
  std::vector<std::byte> bytes;
};

/// Called repeatedly while a thread waits in a collective, with the MPI token (Note [Vigil]).
struct WaitHook {
  void (*call)(void*) = nullptr;
  void* argument = nullptr;
};
inline WaitHook while_waiting;

/// Signs of life on their way after the end of a vigil (Note [Vigil]).
struct Farewells {
  MpiHandle signs = 0;       ///< communicator
  std::vector<int> awaited;  ///< ranks whose farewell has not arrived
};
inline std::vector<Farewells> farewells;
/// Receives all farewells, since MPI may end only when no message is left; polls. Returns early at an error of MPI. The
/// other ranks must end, too.
void await_farewells();

/// Throws LaunchError if MPI has another number of ranks than the launcher has announced.
void require_announced_size(const Environment& environment, int size);

class MpiLink final : public Link {
 public:
  MpiLink() = default;
  /// Finalises MPI.
  ~MpiLink() override;

  void isend(int rank, int tag, const ConstBox& box, StatementId statement, std::uint64_t cookie) override;
  void irecv(int rank, int tag, const MutableBox& box, StatementId statement, std::uint64_t cookie) override;
  std::size_t test_some(std::vector<Completion>& done) override;
  [[nodiscard]] std::size_t pending() const override {
    return operations.size() - free_operations.size() + finished.size();
  }
  void send_control(int rank, int tag, std::span<const std::byte> bytes, StatementId statement,
                    std::int64_t payload) override;
  [[nodiscard]] std::optional<ControlMessage> receive_control() override;
  [[nodiscard]] std::size_t pending_control() override;
  void ibarrier(std::uint64_t cookie) override;
  void barrier() override;
  void broadcast(std::vector<std::byte>& bytes, int root) override;
  [[nodiscard]] std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> bytes) override;
  [[noreturn]] void abort_all(int exit_code) override;
  void fall_silent() override;
  void expect_end(std::chrono::seconds limit, std::function<int()> otherwise) override {
    end_limit = limit, end_missed = std::move(otherwise);
  }
  void rest(std::chrono::microseconds least) override;
  [[nodiscard]] std::chrono::duration<double> now() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }

  /// Initialises MPI unless it is already, and sets the members of Link for the ranks of a communicator.
  void start(MpiHandle all);
  [[nodiscard]] bool give_up() override;

 private:
  void find_nodes();
  static void wait(MpiHandle request, const char* what);
  /// Completes request `index`; reports its operation if this was its last piece.
  void finish_request(std::size_t index, const tdsl_mpi_status& status, std::vector<Completion>& done);
  /// Removes control messages that MPI has sent.
  void drop_sent_control();

  bool owns_mpi = false;
  std::chrono::seconds end_limit{0};
  std::function<int()> end_missed;
  bool given_up = false;
  MpiHandle data = 0;
  MpiHandle control = 0;

  std::vector<MpiHandle> requests;  // parallel to `pieces`
  std::vector<PendingPiece> pieces;
  std::vector<PendingOperation> operations;
  std::vector<std::size_t> free_operations;
  std::vector<int> indices;  // scratch of test_some
  std::vector<tdsl_mpi_status> statuses;
  std::string wrong_size;            // of a received message; reported by test_some
  std::vector<Completion> finished;  // without a request: the barrier of a single rank
  std::deque<OutgoingControl> outgoing;
  std::deque<ControlMessage> to_self;

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

  void add_request(MpiHandle request, const PendingPiece& piece) {
    requests.push_back(request);
    pieces.push_back(piece);
  }
};

}  // namespace tdsl::rt
