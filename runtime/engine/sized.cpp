#include <algorithm>
#include <string>
#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/engine/wire.h"
#include "runtime/kernels/copy.h"

namespace tdsl::rt {

// Note [Size first]
// Nobody knows how large a sized block is before it is complete. So its request gets one of two answers: the block in a
// pack, when it is small or absent; or its size. Then whoever asked grants it: allocates, posts the receive and sends
// the word to go. Data never arrives unasked or unposted. The other way round, a grant needs nothing of the sender but
// that it is still there, which its holds see to.
//
// Every piece counts as large as expected from its admission on (under --memory as large as it may be). What turns out
// no larger is granted at once; what is larger has to fit like a step that is admitted, oldest step first, but for the
// least unfinished step, whose grants are unconditional: README.md says why that is enough and why it is needed ("Why
// sizes do not deadlock").

namespace {

Operand as_bytes(const BufferRef& block) {
  Box box;
  box.rank = 1;
  box[0] = {0, block != nullptr ? block->bytes() : 0};
  return row_major(block != nullptr ? block->data() : nullptr, box);
}

}  // namespace

// --- the rank that has the block
// -----------------------------------------------------------------------------------------

/// Answers with the block or with its size. The block is held until the completion with `cookie`.
void Engine::State::offer(const Request& request, const BufferRef& block, std::uint64_t cookie) {
  const Index bytes = bytes_of(block);
  if (bytes == 0 || bytes < options.small_box) {
    outbox.join_pack(request, bytes, {request.slot, 1, as_bytes(block), bytes, cookie});
    return;
  }
  offers.emplace(cookie, Offer{request, block});
  outbox.announce(request.rank, {request.slot, bytes, static_cast<Index>(cookie)});
}

/// The receive of something we have offered waits.
void Engine::State::take_go(const wire::Go& go) {
  const auto found = offers.find(static_cast<std::uint64_t>(go.offer));
  TDSL_CHECK(found != offers.end(), "what is to go was offered");
  Offer offered = std::move(found->second);
  offers.erase(found);
  offered.request.slot = go.tag;
  outbox.enqueue(PostSend{offered.request, 1, as_bytes(offered.block), static_cast<std::uint64_t>(go.offer)});
}

// --- the rank that wants it
// ----------------------------------------------------------------------------------------------

/// Asks for a sized block, which has no receive yet; returns the name by which it will be offered.
Index Engine::State::expect_sized(const std::shared_ptr<RemotePiece>& piece, int source, const plan::Estimate& bytes) {
  piece->reserved = options.memory_bytes > 0 ? footprint.counted(bytes) : 0;
  footprint.reserved += piece->reserved;
  ++ungranted;
  return static_cast<Index>(in_flight.enter({.piece = piece, .source = source}));
}

/// Its size is known and its memory there, if it has any.
void Engine::State::settle(RemotePiece& piece, Index bytes) {
  if (bytes > 0) piece.buffer = store.allocate(bytes);
  piece.count(bytes);
  footprint.reserved -= std::exchange(piece.reserved, 0);
  --ungranted;
}

void Engine::State::take_size(const wire::Size& size) {
  RemotePiece& piece = *in_flight.receive(size.slot).piece;
  piece.announced = size.bytes;
  piece.offer = size.offer;
  announced.emplace(piece.step, size.slot);
}

/// Grants what may come, the oldest step's first.
void Engine::State::grant() {
  bool behind = false;
  for (auto next = announced.begin(); next != announced.end() && !failure.failed();) {
    const auto cookie = static_cast<std::uint64_t>(next->second);
    InFlight::Message& flight = in_flight.receive(next->second);
    const std::shared_ptr<RemotePiece> piece = flight.piece;
    if (!may_grant(*piece, flight.source, behind)) {
      behind = true;
      ++next;
      continue;
    }
    next = announced.erase(next);
    TDSL_CHECK(in_flight.slots.available(flight.source) > 0,
               "a step has more pieces of one rank than there are message tags");
    settle(*piece, piece->announced);
    flight.slot = in_flight.slots.take(flight.source);
    outbox.enqueue(PostReceive{flight.source, flight.slot, piece->site, 1, piece, cookie});
    outbox.grant(flight.source, {piece->offer, flight.slot});
  }
}

/// `behind`: an older piece waits for room, and must not be overtaken by what takes more than it was said to.
bool Engine::State::may_grant(const RemotePiece& piece, int source, bool behind) const {
  const Index more = piece.announced - piece.counted;
  const Index more_memory = piece.announced - piece.reserved;
  if (piece.step == open_steps.least()) {
    require_memory(piece, more_memory);
    return true;
  }
  if (in_flight.slots.available(source) == 0) return false;
  const bool in_memory = options.memory_bytes == 0 || more_memory <= 0;
  if (more <= 0 && in_memory) return true;
  if (behind) return false;
  return (more <= 0 || footprint.window_has(more, 0, 0, 0)) && (in_memory || footprint.memory_has(more_memory));
}

/// Stops the run if the only step under way needs more than there is.
void Engine::State::require_memory(const RemotePiece& piece, Index more) const {
  if (options.memory_bytes == 0 || more <= 0 || open_steps.count() > 1 || piece.waiting.empty() ||
      footprint.memory_has(more))
    return;
  footprint.stop_for_block(piece.waiting.front()->operation->op(), piece.announced);
}

}  // namespace tdsl::rt
