#include <cstring>
#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/engine/wire.h"
#include "runtime/kernels/copy.h"

namespace tdsl::rt {

void Engine::State::take_request(const Request& request) {
  if (request.operation >= 0) {
    take_relay_request(request);
    return;
  }
  TensorInstance* const tensor = tensors.find(request.tensor);
  if (tensor == nullptr) {
    // The peer is ahead of us: it has recorded an operation that we have not.
    early_requests[request.tensor].push_back(request);
    return;
  }
  Block& block = tensors.block(*tensor, request.block);
  if (block.complete) {
    answer(*tensor, request);
  } else {
    block.waiting_requests.push_back(request);
  }
}

void Engine::State::answer(TensorInstance& tensor, const Request& request) {
  Block& block = tensors.block(tensor, request.block);
  --block.requests;
  ++block.sends;
  if (block.away) {
    to_serve.emplace_back(&tensor, request);
    return serve();
  }
  const std::uint64_t cookie = enter({nullptr, 0, 0, &tensor, request.block, block.buffer});
  note_answer(cookie, request, tensor.sized() ? bytes_of(block.buffer) : request.box.volume() * tensor.element_bytes());
  if (tensor.sized()) return offer(request, block.buffer, cookie);
  const Operand whole = row_major(block.buffer->data(), tensor.box_of(request.block));
  send(request, part_of(whole, request.box, tensor.element_bytes()), tensor.element_bytes(), cookie);
}

void Engine::State::take_relay_request(const Request& request) {
  const RelayKey key{request.operation, request.super_block, {request.tensor, request.block, request.box}};
  Relay& relay = relays[key];
  relay.key = key;
  if (relay.piece != nullptr && relay.piece->arrived) {
    forward(relay, request);
  } else {
    relay.waiting.push_back(request);
  }
}

void Engine::State::forward(Relay& relay, const Request& request) {
  const std::uint64_t cookie = enter({nullptr, 0, 0, nullptr, 0, nullptr, &relay});
  note_answer(cookie, request, bytes_of(relay.piece->buffer));
  if (relay.sized) return offer(request, relay.piece->buffer, cookie);
  send(request, row_major(relay.piece->buffer->data(), relay.piece->box), relay.element_bytes, cookie);
}

/// A child has its copy.
void Engine::State::end_forward(Relay& relay) {
  if (--relay.unserved > 0) return;
  --relayed_pieces;
  const RelayKey key = relay.key;
  relays.erase(key);
}

void Engine::State::send(const Request& request, const Operand& box, Index element_bytes, std::uint64_t cookie) {
  const Index bytes = request.box.volume() * element_bytes;
  if (bytes >= options.small_box) {
    enqueue(PostSend{request, element_bytes, box, cookie});
    return;
  }
  join_pack(request, bytes, {request.slot, element_bytes, box, -1, cookie});
}

/// Small boxes join the pack to their rank that still waits in the outbox, if it has room.
void Engine::State::join_pack(const Request& request, Index bytes, const PostPack::Entry& entry) {
  const auto [open, is_new] = open_packs.try_emplace({request.rank, request.site}, outbox.size());
  if (is_new || std::get<PostPack>(outbox[open->second]).bytes + bytes > kPackBytes) {
    open->second = outbox.size();
    enqueue(PostPack{request.rank, request.site, 0, {}});
  }
  auto& pack = std::get<PostPack>(outbox[open->second]);
  pack.bytes += bytes;
  pack.entries.push_back(entry);
}

/// The boxes of a pack have come.
void Engine::State::take_pack(const ControlMessage& message) {
  std::span<const std::byte> bytes = message.bytes;
  for (const wire::PackEntry& entry : wire::decode_pack_head(bytes)) {
    const auto found = in_flight.find(static_cast<std::uint64_t>(entry.slot));
    TDSL_CHECK(found != in_flight.end() && found->second.piece != nullptr, "a box that comes in a pack was asked for");
    const std::shared_ptr<RemotePiece> piece = std::move(found->second.piece);
    in_flight.erase(found);
    if (entry.bytes >= 0) settle(*piece, entry.bytes);
    const auto size = static_cast<std::size_t>(bytes_of(piece->buffer));
    TDSL_CHECK(size <= bytes.size(), "a pack holds the boxes it names");
    if (size > 0) std::memcpy(piece->buffer->data(), bytes.data(), size);
    bytes = bytes.subspan(size);
    arrive(*piece);
  }
  TDSL_CHECK(bytes.empty(), "a pack holds nothing but the boxes it names");
}

}  // namespace tdsl::rt
