#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/environment.h"
#include "runtime/check.h"

/// The one checked wrapper over MPI: no other file includes mpi.h. Every error return becomes a RunError.
namespace tdsl::rt {

/// A statement of the program in its statistics; kNoStatement counts into the totals only.
using StatementId = std::int32_t;
inline constexpr StatementId kNoStatement = -1;

/// What went through the wrapper on this rank. Payload is block data, forwarding included; control is requests,
/// scalars and the engine's other messages. Bytes.
struct Traffic {
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
  std::int64_t bytes_from_other_nodes = 0;  ///< of those received
  std::int64_t messages_sent = 0;           ///< MPI messages of payload; a box above the piece limit counts each piece
  std::int64_t messages_received = 0;
  std::int64_t control_bytes_sent = 0;
  std::int64_t control_bytes_received = 0;
  std::int64_t control_messages_sent = 0;
  std::int64_t control_messages_received = 0;

  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// Where the ranks live. Nodes are numbered by their lowest rank.
struct Topology {
  int node_count = 1;
  int node = 0;        ///< of this rank
  int local_rank = 0;  ///< position of this rank in its node
  int local_size = 1;  ///< ranks on this node
  std::vector<int> node_of_rank{0};

  /// Ranks of every node, if there are several nodes, all have as many, and the ranks fill one after the other; else 1.
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
  std::uint64_t cookie = 0;  ///< what the caller passed
  bool received = false;     ///< irecv, else isend (or the non-blocking barrier)
};

/// A control message that has arrived.
struct ControlMessage {
  int source = 0;
  int tag = 0;
  std::vector<std::byte> bytes;  ///< payload last
};

/// Sizes of a box in pieces of at most `limit` bytes, each a sub-box: the rule depends on extents and element size
/// only, so that sender and receiver cut alike whatever their strides. Offsets and extents are per dimension.
struct BoxPiece {
  std::vector<std::int64_t> offset;
  std::vector<std::int64_t> extents;
};
[[nodiscard]] std::vector<BoxPiece> cut_box(std::span<const std::int64_t> extents, std::int64_t element_bytes,
                                            std::int64_t limit);

class Link;

/// A launch that cannot work. Every process finds it by itself, and the one of Environment::launch_rank 0 says so.
class LaunchError : public RunError {
 public:
  explicit LaunchError(const std::string& message) : RunError(message, ExitCode::kUsage) {}
};
/// Whether this MPI library finds its ranks by PMI, without PMIx.
[[nodiscard]] bool mpi_takes_pmi();

/// The run as this rank sees it. Exactly one per process. Without a launcher it is one rank and MPI is never started.
class World {
 public:
  /// A message is at most 1 GiB.
  static constexpr std::int64_t kPieceBytes = std::int64_t{1} << 30;
  static constexpr int kControlTags = 1 << 14;

  /// Starts MPI if there is a launcher. Throws LaunchError when the launch is refused (see classify_launch) or the
  /// number of ranks is not the announced one, RunError when MPI lacks MPI_THREAD_SERIALIZED.
  explicit World(const Environment& environment);
  /// A rank of a world that something else than MPI makes up: in tests many are in one process.
  explicit World(std::unique_ptr<Link> link);
  /// Ends MPI. All ranks must come here, so after an error on some rank call abort_all instead of unwinding into this.
  /// Requests still pending are an internal error reported on stderr.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] bool uses_mpi() const;
  [[nodiscard]] const Topology& topology() const;
  /// Largest tag of the data communicator; control tags share the limit. At least 32767.
  [[nodiscard]] int max_tag() const;

  /// The MPI token, the right to call MPI (MPI_THREAD_SERIALIZED): at most one exists at a time, in one thread.
  class Access {
   public:
    Access(Access&& other) noexcept;
    Access& operator=(Access&&) = delete;
    ~Access();

    /// Sends a box to `rank` on the data communicator; the memory must stay unchanged until the completion with
    /// `cookie`. No copy is made.
    void isend(int rank, int tag, const ConstBox& box, StatementId statement, std::uint64_t cookie);
    void isend(int rank, int tag, std::span<const std::byte> bytes, StatementId statement, std::uint64_t cookie);
    /// Posts the receive of a box with the sender's extents and element size (strides may differ), or of bytes. A
    /// message of another size is an InternalError at completion.
    void irecv(int rank, int tag, const MutableBox& box, StatementId statement, std::uint64_t cookie);
    void irecv(int rank, int tag, std::span<std::byte> bytes, StatementId statement, std::uint64_t cookie);
    /// Appends what has finished since the last call to `done`, in no particular order; returns how many. Never waits.
    std::size_t test_some(std::vector<Completion>& done);
    /// Requests not yet reported by test_some.
    [[nodiscard]] std::size_t pending() const;

    /// Sends a control message; the bytes are copied. Messages of one sender arrive in order. To itself is allowed.
    /// `payload` of the bytes are block data: on both sides they count as such into the statement, the rest as control.
    /// Tags are below kControlTags.
    void send_control(int rank, int tag, std::span<const std::byte> bytes, StatementId statement = kNoStatement,
                      std::int64_t payload = 0);
    /// The next control message that has arrived, if any. Never waits.
    [[nodiscard]] std::optional<ControlMessage> receive_control();
    /// Control messages sent but not yet taken over by MPI.
    [[nodiscard]] std::size_t pending_control() const;

    /// Starts a barrier that completes through test_some once every rank has started it. One at a time.
    void ibarrier(std::uint64_t cookie);

    // Blocking, for start-up and the end; every rank must call.
    void barrier();
    /// `bytes` of `root` everywhere; lengths need not agree before.
    void broadcast(std::vector<std::byte>& bytes, int root);
    void broadcast(std::string& text, int root);
    /// Every rank's bytes, by rank; lengths may differ.
    [[nodiscard]] std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> bytes);

   private:
    friend class World;
    explicit Access(Link* link) : link_(link) {}
    Link* link_;
  };

  /// Waits for the MPI token.
  [[nodiscard]] Access access();
  /// The MPI token, or nothing when another thread has it.
  [[nodiscard]] std::optional<Access> try_access();

  /// Gives the core to others, for about that long.
  void rest(std::chrono::microseconds least) const;
  /// Seconds since some moment in the past.
  [[nodiscard]] double now() const;

  /// Counts of this rank. Takes the lock: do not call while this thread holds an Access.
  [[nodiscard]] Traffic total_traffic() const;
  [[nodiscard]] Traffic statement_traffic(StatementId statement) const;
  /// Bytes of payload by the rank they came from.
  [[nodiscard]] std::vector<std::int64_t> received_from() const;

  /// Ends all ranks at once with this exit code, without waiting for anybody; also from a thread while another one
  /// holds an Access. The caller has printed its message and unlinked its temporary files. What MPI would say is not
  /// printed.
  [[noreturn]] void abort_all(int exit_code);
  /// After an error, of a program that is called: messages under way are given up, and the communicators are abandoned.
  /// False: MPI may still touch memory of this run. (The other ranks do the same, at about the same time.)
  [[nodiscard]] bool give_up();
  /// Before ranks that go their own ways are missed by others: what MPI says of that is not written. Standard error is
  /// closed.
  void fall_silent();
  /// Where this object starts and ends MPI: if its end takes longer, `otherwise` is called in a thread of its own and
  /// the run ends with the exit code that it returns. A rank that stops there is missed by nobody else.
  void expect_end(std::chrono::seconds limit, std::function<int()> otherwise);

 private:
  std::unique_ptr<Link> link_;
};

}  // namespace tdsl::rt
