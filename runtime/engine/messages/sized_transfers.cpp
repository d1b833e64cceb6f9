#include "runtime/engine/messages/sized_transfers.h"

namespace tdsl::rt {

void SizedTransfers::offer(const Request& request, const BufferRef& block, std::uint64_t cookie) {
  const Index bytes = bytes_of(block);
  if (bytes == 0 || bytes < context_.options.small_box) {
    outbox_.join_pack(request, bytes, {request.slot, 1, as_bytes(block), bytes, cookie, {}});
    return;
  }
  offers_.emplace(cookie, Offer{request, block});
  outbox_.announce(request.rank, {request.slot, bytes, static_cast<Index>(cookie)});
}

void SizedTransfers::take_go(const wire::Go& go) {
  const auto found = offers_.find(static_cast<std::uint64_t>(go.offer));
  TDSL_CHECK(found != offers_.end(), "a block that a peer grants was offered");
  Offer offered = std::move(found->second);
  offers_.erase(found);
  offered.request.slot = go.tag;
  outbox_.enqueue(PostSend{offered.request, 1, as_bytes(offered.block), static_cast<std::uint64_t>(go.offer), {}});
}

Index SizedTransfers::expect(const std::shared_ptr<RemotePiece>& piece, int source, const plan::Estimate& bytes) {
  piece->reserved = context_.options.memory_bytes > 0 ? footprint_.counted(bytes) : 0;
  footprint_.reserved += piece->reserved;
  ++ungranted_;
  return static_cast<Index>(in_flight_.enter({.piece = piece, .source = source}));
}

void SizedTransfers::settle(RemotePiece& piece, Index bytes) {
  if (bytes > 0) piece.buffer = context_.store.allocate(bytes);
  piece.count(bytes);
  footprint_.reserved -= std::exchange(piece.reserved, 0);
  --ungranted_;
}

void SizedTransfers::take_size(const wire::Size& size) {
  RemotePiece& piece = *in_flight_.receive(size.slot).piece;
  piece.announced = size.bytes;
  piece.offer = size.offer;
  announced_.emplace(piece.step, size.slot);
}

void SizedTransfers::grant(const OpenSteps& steps) {
  bool behind = false;
  for (auto next = announced_.begin(); next != announced_.end();) {
    const auto cookie = static_cast<std::uint64_t>(next->second);
    InFlight::Message& flight = in_flight_.receive(next->second);
    const std::shared_ptr<RemotePiece> piece = flight.piece;
    if (!may_grant(steps, *piece, flight.source, behind)) {
      behind = true;
      ++next;
      continue;
    }
    next = announced_.erase(next);
    settle(*piece, piece->announced);
    flight.slot = in_flight_.slots.take(flight.source);
    outbox_.enqueue(PostReceive{flight.source, flight.slot, piece->site, 1, piece, cookie});
    outbox_.grant(flight.source, {piece->offer, flight.slot});
  }
}

/// `behind`: an older piece waits for memory; a piece larger than expected must not overtake it.
bool SizedTransfers::may_grant(const OpenSteps& steps, const RemotePiece& piece, int source, bool behind) const {
  const Index more = piece.announced - piece.counted;
  const Index more_memory = piece.announced - piece.reserved;
  if (piece.step == steps.least()) {
    require_memory(steps, piece, more_memory);
    return true;
  }
  if (in_flight_.slots.available(source) == 0) return false;
  const bool in_memory = context_.options.memory_bytes == 0 || more_memory <= 0;
  if (more <= 0 && in_memory) return true;
  if (behind) return false;
  return (more <= 0 || footprint_.window_has(more, 0, 0, 0)) && (in_memory || footprint_.memory_has(more_memory));
}

void SizedTransfers::require_memory(const OpenSteps& steps, const RemotePiece& piece, Index more) const {
  if (context_.options.memory_bytes == 0 || more <= 0 || steps.count() > 1 || piece.waiting.empty() ||
      footprint_.memory_has(more))
    return;
  footprint_.stop_for_block(piece.waiting.front()->operation->op(), piece.announced);
}

}  // namespace tdsl::rt
