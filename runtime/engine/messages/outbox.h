#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/engine/context.h"
#include "runtime/engine/messages/wire.h"
#include "runtime/engine/store/row_list.h"
#include "runtime/engine/tasks/operation.h"

// MPI calls decided by the engine. Decisions are made under the engine's lock, MPI is called outside it.

namespace tdsl::rt {

// Note [Packs]
// A box below EngineOptions::small_box bytes has no receive of its own: it arrives in a pack, a control message that
// lists its boxes, even if there is only one. Requester and owner both infer this from the box's size. For larger boxes
// the copies into and out of the message cost more than the saved message (measured); MPI libraries send messages of up
// to kPackBytes eagerly.
inline constexpr Index kPackBytes = Index{32} << 10;

/// Receives a piece from its owner; posted before its request is sent.
struct PostReceive {
  int source = 0;
  int slot = 0;
  int site = 0;
  Index element_bytes = 1;
  std::shared_ptr<RemotePiece> piece;
  std::uint64_t cookie = 0;
};

/// Answers a request from the block's memory.
struct PostSend {
  Request request;
  Index element_bytes = 1;
  Operand box;  ///< the requested elements, inside the block
  std::uint64_t cookie = 0;
  Packing packing{};  ///< performed before; without rows: none
};

/// One message with the small boxes that one rank has requested for one statement and that were in the outbox at the
/// same time. Boxes never wait for a pack to fill.
struct PostPack {
  struct Entry {
    Index slot = 0;
    Index element_bytes = 1;
    Operand box;
    Index sized_bytes = -1;    ///< of a sized block, which `box` holds as bytes; -1: a box of elements
    std::uint64_t cookie = 0;  ///< completes when the box is copied into the message
    Packing packing{};         ///< as above
  };
  int target = 0;
  int site = 0;
  Index bytes = 0;
  std::vector<Entry> entries;
};

/// A buffer as a box of bytes, empty for null.
[[nodiscard]] Operand as_bytes(const BufferRef& buffer);

struct PostControl {
  int target = 0;
  int tag = 0;
  std::vector<std::byte> bytes;
};

/// This rank is done; completes once all ranks are.
struct PostBarrier {};

using Posting = std::variant<PostReceive, PostSend, PostPack, PostControl, PostBarrier>;

/// Postings in order, until the thread with the MPI token posts them.
class Outbox {
 public:
  explicit Outbox(const Context& context) : context_(context) {}

  void enqueue(Posting posting);
  void tell(int rank, int tag, std::vector<std::byte> bytes) { enqueue(PostControl{rank, tag, std::move(bytes)}); }
  /// Sends the same control message to every other rank.
  void tell_others(int tag, const std::vector<std::byte>& bytes);
  /// Answers a request with a box: in its own message, or in a pack if it is small.
  void send(const Request& request, const Operand& box, Index element_bytes, std::uint64_t cookie);
  /// The same with rows of a box, which are packed into the buffer when they are sent; null: no rows.
  void send_packed(const Request& request, const BufferRef& packed, std::uint64_t cookie, Packing packing);
  /// Adds an entry of `bytes` to the last pack for the request's rank and site, if the pack has room for it.
  void join_pack(const Request& request, Index bytes, const PostPack::Entry& entry);
  /// Sizes and grants of sized blocks: one message per rank and poll.
  void announce(int rank, const wire::Size& size);
  void grant(int rank, const wire::Go& go);
  /// Boxes that peers read in place, and ends of this rank's reading: likewise.
  void lend(int rank, const wire::Lease& lease);
  void end_lease(int rank, Index number);

  /// Removes and returns all postings.
  [[nodiscard]] std::vector<Posting> take();
  [[nodiscard]] bool empty() const { return postings_.empty(); }
  /// empty() for callers without the lock; includes announcements and grants.
  [[nodiscard]] bool filled() const { return filled_; }

 private:
  const Context& context_;
  std::vector<Posting> postings_;
  std::atomic<bool> filled_{false};
  std::map<std::pair<int, int>, std::size_t> open_packs_;  ///< by rank and site: index of the last pack in `postings_`
  std::map<int, std::vector<wire::Size>> sizes_;           ///< by rank
  std::map<int, std::vector<wire::Go>> grants_;
  std::map<int, std::vector<wire::Lease>> leases_;
  std::map<int, std::vector<Index>> returns_;
};

}  // namespace tdsl::rt
