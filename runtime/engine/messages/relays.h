#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/engine/tasks/operation.h"

namespace tdsl::rt {

/// Identifies a copy of a piece: a super-block of an operation fetches it once.
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

/// A fetched piece that this rank sends on to its children in the piece's tree (plan/steps/tree.h), which it holds
/// until then. It has no piece yet if a child requested it before this rank has admitted the step.
struct Relay {
  RelayKey key;
  std::shared_ptr<RemotePiece> piece;
  Index element_bytes = 0;
  bool sized = false;
  Index unserved = 0;            ///< children that do not have the piece
  std::vector<Request> waiting;  ///< answered when the piece has arrived
};

class Relays {
 public:
  /// The relay of the copy, entered if it is new.
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
  /// One more child has the piece; with the last one the relay ends.
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
