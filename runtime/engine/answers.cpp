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
  if (block.away) return disk.serve(tensor, request);
  const Index bytes = tensor.sized() ? bytes_of(block.buffer) : request.box.volume() * tensor.element_bytes();
  const std::uint64_t cookie =
      in_flight.enter_answer({.tensor = &tensor, .block = request.block, .buffer = block.buffer}, request, bytes);
  if (tensor.sized()) return sized.offer(request, block.buffer, cookie);
  const Operand whole = row_major(block.buffer->data(), tensor.box_of(request.block));
  outbox.send(request, part_of(whole, request.box, tensor.element_bytes()), tensor.element_bytes(), cookie);
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
  const std::uint64_t cookie = in_flight.enter_answer({.relay = &relay}, request, bytes_of(relay.piece->buffer));
  if (relay.sized) return sized.offer(request, relay.piece->buffer, cookie);
  outbox.send(request, row_major(relay.piece->buffer->data(), relay.piece->box), relay.element_bytes, cookie);
}

/// A child has its copy.
void Engine::State::end_forward(Relay& relay) {
  if (--relay.unserved > 0) return;
  --relayed_pieces;
  const RelayKey key = relay.key;
  relays.erase(key);
}

/// The boxes of a pack have come.
void Engine::State::take_pack(const ControlMessage& message) {
  std::span<const std::byte> bytes = message.bytes;
  for (const wire::PackEntry& entry : wire::decode_pack_head(bytes)) {
    static_cast<void>(in_flight.receive(entry.slot));
    const std::shared_ptr<RemotePiece> piece = in_flight.take(static_cast<std::uint64_t>(entry.slot)).piece;
    if (entry.bytes >= 0) sized.settle(*piece, entry.bytes);
    const auto size = static_cast<std::size_t>(bytes_of(piece->buffer));
    TDSL_CHECK(size <= bytes.size(), "a pack holds the boxes it names");
    if (size > 0) std::memcpy(piece->buffer->data(), bytes.data(), size);
    bytes = bytes.subspan(size);
    arrive(*piece);
  }
  TDSL_CHECK(bytes.empty(), "a pack holds nothing but the boxes it names");
}

}  // namespace tdsl::rt
