#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "runtime/engine/operation.h"

// What the engine wants MPI to do. Decisions are taken under the engine's lock, MPI is called outside it: decisions
// wait here, in order, until the thread with the MPI token carries them out.

namespace tdsl::rt {

// Note [Packs]
// A box below EngineOptions::small_box bytes has no receive of its own: it comes in a pack, a control message that
// names the boxes it carries, even when it is alone. Whoever asks knows this from the box's size, as the owner does.
// Above, the copies into and out of the message cost more than a message saves (measured); up to kPackBytes MPI
// libraries send at once.
inline constexpr Index kPackBytes = Index{32} << 10;

/// Receive a piece from its owner; posted before its request goes out.
struct PostReceive {
  int source = 0;
  int slot = 0;
  int site = 0;
  Index element_bytes = 1;
  std::shared_ptr<RemotePiece> piece;
  std::uint64_t cookie = 0;
};

/// Answer a request from the block's memory.
struct PostSend {
  Request request;
  Index element_bytes = 1;
  Operand box;  ///< the elements asked for, inside the block
  std::uint64_t cookie = 0;
};

/// Small boxes for one rank, asked for by one statement: they were to be sent while nobody had the MPI token, and share
/// a message. Nothing ever waits for a pack to fill.
struct PostPack {
  struct Entry {
    Index slot = 0;
    Index element_bytes = 1;
    Operand box;
    Index sized_bytes = -1;    ///< of a sized block, which `box` holds as bytes; -1: a box of elements
    std::uint64_t cookie = 0;  ///< over once the box is copied into the message
  };
  int target = 0;
  int site = 0;
  Index bytes = 0;
  std::vector<Entry> entries;
};

struct PostControl {
  int target = 0;
  int tag = 0;
  std::vector<std::byte> bytes;
};

/// Everything of this rank is done; completes when that is so on every rank.
struct PostBarrier {};

using Posting = std::variant<PostReceive, PostSend, PostPack, PostControl, PostBarrier>;

/// Receive slots: tags that are free, per source.
class Slots {
 public:
  Slots(int sources, int max_tag)
      : limit_(Index{max_tag} + 1),
        next_(static_cast<std::size_t>(sources), 0),
        free_(static_cast<std::size_t>(sources)) {}
  [[nodiscard]] Index available(int source) const {
    const auto s = static_cast<std::size_t>(source);
    return limit_ - next_[s] + static_cast<Index>(free_[s].size());
  }
  /// Whether there are enough for every source, whichever they are.
  [[nodiscard]] bool certainly_available(Index count) const { return taken_ + count <= limit_; }
  [[nodiscard]] int take(int source) {
    const auto s = static_cast<std::size_t>(source);
    ++taken_;
    if (free_[s].empty()) return static_cast<int>(next_[s]++);
    const int slot = free_[s].back();
    free_[s].pop_back();
    return slot;
  }
  void give_back(int source, int slot) {
    free_[static_cast<std::size_t>(source)].push_back(slot);
    --taken_;
  }

 private:
  Index limit_;
  Index taken_ = 0;
  std::vector<Index> next_;
  std::vector<std::vector<int>> free_;
};

}  // namespace tdsl::rt
