#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/engine/tasks/operation.h"

namespace tdsl::rt {

/// Identifies a copy of a piece: each super-block of an operation fetches it once.
struct RelayKey {
  Index operation = 0;  ///< numbered as submitted, the same on all ranks
  Index super_block = 0;
  plan::Piece piece;
  friend bool operator==(const RelayKey&, const RelayKey&) = default;
};
struct RelayKeyHash {
  std::size_t operator()(const RelayKey& key) const noexcept {
    return plan::PieceHash()(key.piece) ^
           (static_cast<std::size_t>(key.operation) * 1000003 + static_cast<std::size_t>(key.super_block));
  }
};

/// A fetched piece that this rank forwards to its children in the piece's tree (plan/steps/tree.h) and holds until
/// they have received it. Without a piece if a child requested it before this rank admitted the step.
struct Relay {
  RelayKey key;
  std::shared_ptr<RemotePiece> piece;
  Index element_bytes = 0;
  bool sized = false;
  Index unserved = 0;            ///< children that have not received the piece
  std::vector<Request> waiting;  ///< answered when the piece has arrived
};

class Relays {
 public:
  /// The relay of the copy, created if necessary.
  [[nodiscard]] Relay& at(const RelayKey& key) {
    Relay& relay = relays_[key];
    relay.key = key;
    return relay;
  }
  /// The relay holds the piece for `children` ranks.
  void hold(Relay& relay, const std::shared_ptr<RemotePiece>& piece, std::size_t children) {
    relay.piece = piece;
    relay.unserved = static_cast<Index>(children);
    piece->relay = &relay;
    ++holding_;
  }
  /// One more child has received the piece; the last one ends the relay.
  void end_send(Relay& relay) {
    if (--relay.unserved > 0) return;
    --holding_;
    relays_.erase(RelayKey(relay.key));
  }
  /// Relays that hold a piece.
  [[nodiscard]] Index holding() const { return holding_; }

 private:
  std::unordered_map<RelayKey, Relay, RelayKeyHash> relays_;
  Index holding_ = 0;
};

}  // namespace tdsl::rt
