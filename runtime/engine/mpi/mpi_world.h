#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/base/environment.h"
#include "runtime/check.h"

/// The only wrapper over MPI: no other folder calls MPI's functions (mpi_table.h). Every error return becomes a
/// RunError.
namespace tdsl::rt {

/// Statement of the program in statistics; kNoStatement counts only in the totals.
using StatementId = std::int32_t;
inline constexpr StatementId kNoStatement = -1;

/// Communication of this rank, in bytes and messages. Payload is block data, including forwarded blocks; control is
/// requests, scalars and the engine's other messages.
struct Traffic {
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
  std::int64_t bytes_from_other_nodes = 0;  ///< part of bytes_received
  std::int64_t messages_sent = 0;  ///< MPI messages of payload; a box above the piece limit counts once per piece
  std::int64_t messages_received = 0;
  std::int64_t control_bytes_sent = 0;
  std::int64_t control_bytes_received = 0;
  std::int64_t control_messages_sent = 0;
  std::int64_t control_messages_received = 0;

  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// Distribution of the ranks over nodes. Nodes are numbered by their lowest rank.
struct Topology {
  int node_count = 1;
  int node = 0;        ///< of this rank
  int local_rank = 0;  ///< position of this rank in its node
  int local_size = 1;  ///< ranks on this node
  std::vector<int> node_of_rank{0};

  /// Number of ranks on each node, if several nodes have equal numbers of consecutive ranks; else 1.
  [[nodiscard]] int ranks_per_node() const;
};

/// A box of elements in memory: element x (0 <= x < extents) lies at
/// `base + sum(x[d] * strides[d]) * element_bytes`. Strides are in elements and may be negative.
struct ConstBox {
  const std::byte* base = nullptr;
  std::int64_t element_bytes = 1;
  std::span<const std::int64_t> extents;
  std::span<const std::int64_t> strides;
};
struct MutableBox {
  std::byte* base = nullptr;
  std::int64_t element_bytes = 1;
  std::span<const std::int64_t> extents;
  std::span<const std::int64_t> strides;
};

/// A finished isend or irecv.
struct Completion {
  std::uint64_t cookie = 0;  ///< as passed by the caller
  bool received = false;     ///< irecv, else isend (or the non-blocking barrier)
};

/// A control message that has arrived.
struct ControlMessage {
  int source = 0;
  int tag = 0;
  std::vector<std::byte> bytes;  ///< payload last
};

/// Divides a box into sub-boxes of at most `limit` bytes. The rule depends only on extents and element size, so that
/// sender and receiver use the same pieces whatever their strides. Offsets and extents are per dimension.
struct BoxPiece {
  std::vector<std::int64_t> offset;
  std::vector<std::int64_t> extents;
};
[[nodiscard]] std::vector<BoxPiece> cut_box(std::span<const std::int64_t> extents, std::int64_t element_bytes,
                                            std::int64_t limit);

/// Communication of one rank; for the holder of World::Access.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// Sends a box to `rank` on the data communicator; the memory must stay unchanged until the completion with
  /// `cookie`. No copy is made.
  virtual void isend(int rank, int tag, const ConstBox& box, StatementId statement, std::uint64_t cookie) = 0;
  /// Posts the receive of a box with the sender's extents and element size (strides may differ). A
  /// message of a different size is an InternalError at completion.
  virtual void irecv(int rank, int tag, const MutableBox& box, StatementId statement, std::uint64_t cookie) = 0;
  /// Appends operations completed since the last call to `done`, in any order; returns their number. Never waits.
  virtual std::size_t test_some(std::vector<Completion>& done) = 0;
  /// Requests not yet reported by test_some.
  [[nodiscard]] virtual std::size_t pending() const = 0;

  /// Sends a control message; the bytes are copied. Messages of one sender arrive in order. May be sent to itself.
  /// `payload` bytes are block data: both sides count them as such for the statement, the rest as control. Tags are
  /// below kControlTags.
  virtual void send_control(int rank, int tag, std::span<const std::byte> bytes, StatementId statement = kNoStatement,
                            std::int64_t payload = 0) = 0;
  /// The next control message that has arrived, if any. Never waits.
  [[nodiscard]] virtual std::optional<ControlMessage> receive_control() = 0;
  /// Control messages not yet sent by MPI.
  [[nodiscard]] virtual std::size_t pending_control() = 0;

  /// Starts a barrier that completes through test_some once every rank has started it. One at a time.
  virtual void ibarrier(std::uint64_t cookie) = 0;

  // Blocking collectives, for start and end of the run.
  virtual void barrier() = 0;
  /// Gives all ranks `bytes` of `root`; lengths may differ before.
  virtual void broadcast(std::vector<std::byte>& bytes, int root) = 0;
  void broadcast(std::string& text, int root);
  /// Every rank's bytes, by rank; lengths may differ.
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> bytes) = 0;
  /// The same for texts, and for values without pointers.
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view text);
  template <class T>
  [[nodiscard]] std::vector<std::vector<T>> all_gather_values(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<std::vector<T>> all;
    for (const std::vector<std::byte>& bytes : all_gather(std::as_bytes(values))) {
      std::vector<T>& theirs = all.emplace_back(bytes.size() / sizeof(T));
      if (!bytes.empty()) std::memcpy(theirs.data(), bytes.data(), bytes.size());
    }
    return all;
  }
};

class Link;

/// The launch cannot work. Every process detects it independently, and the one of Environment::launch_rank 0 reports
/// it.
class LaunchError : public RunError {
 public:
  explicit LaunchError(const std::string& message) : RunError(message, ExitCode::kUsage) {}
};
/// The ranks of a run, as seen by this rank. Exactly one per process. Without a launcher: one rank, without MPI.
class World {
 public:
  /// Maximum size of a message: 1 GiB.
  static constexpr std::int64_t kPieceBytes = std::int64_t{1} << 30;
  static constexpr int kControlTags = 1 << 14;

  /// Opens and initialises MPI if there is a launcher. Throws LaunchError if the launch is refused (see
  /// classify_launch), no MPI library can be opened, or the number of ranks differs from the announced one, RunError if
  /// MPI lacks MPI_THREAD_SERIALIZED.
  explicit World(const Environment& environment);
  /// A rank of a world over another link: in tests one process has many.
  explicit World(std::unique_ptr<Link> link);
  /// Finalises MPI. Collective: after an error on some rank call abort_all instead of unwinding into this. Requests
  /// still pending are an internal error, reported on stderr.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] bool has_mpi() const;
  [[nodiscard]] const Topology& topology() const;
  /// Largest tag of the data communicator; control tags share the limit. At least 32767.
  [[nodiscard]] int max_tag() const;

  struct Release {
    void operator()(Transport* transport) const;
  };
  /// The MPI token, the right to call MPI (MPI_THREAD_SERIALIZED): at most one exists at a time, in one thread.
  using Access = std::unique_ptr<Transport, Release>;

  /// Waits for the MPI token.
  [[nodiscard]] Access access();
  /// The MPI token, or null if another thread holds it.
  [[nodiscard]] Access try_access();

  /// Yields the core for about that long.
  void rest(std::chrono::microseconds least) const;
  /// Seconds since an arbitrary time in the past.
  [[nodiscard]] double now() const;

  /// Traffic of this rank. Takes the lock: must not be called while this thread holds an Access.
  [[nodiscard]] Traffic total_traffic() const;
  [[nodiscard]] Traffic statement_traffic(StatementId statement) const;
  /// Bytes of payload by source rank.
  [[nodiscard]] std::vector<std::int64_t> received_from() const;

  /// Ends all ranks immediately with this exit code, without waiting for any; may be called while another thread holds
  /// an Access. The caller has printed its message and unlinked its temporary files. MPI's own messages are suppressed.
  [[noreturn]] void abort_all(int exit_code);
  /// After an error in a program called as a library: cancels messages in flight and abandons the communicators. False:
  /// MPI may still access memory of this run. (The other ranks do the same, at about the same time.)
  [[nodiscard]] bool give_up();
  /// Suppresses MPI's messages, before ranks exit on their own and are missed by others. Redirects standard error to
  /// /dev/null.
  void fall_silent();
  /// If this object initialises and finalises MPI: when MPI_Finalize takes longer than `limit`, `otherwise` is called
  /// in its own thread and the run ends with the exit code that it returns. No other mechanism detects a rank that
  /// hangs there.
  void expect_end(std::chrono::seconds limit, std::function<int()> otherwise);

 private:
  std::unique_ptr<Link> link_;
};

}  // namespace tdsl::rt
