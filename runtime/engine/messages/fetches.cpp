#include "runtime/engine/messages/fetches.h"

#include <map>
#include <utility>
#include <vector>

namespace tdsl::rt {

/// The piece, with a buffer if it needs one and its size is known. `source`: the rank that sends it, or this rank;
/// `buffered`: false if it may be fetched by a list, or is read in place.
std::shared_ptr<RemotePiece> Fetches::make_piece(const plan::Fetch& fetch, const OperationRun& operation, int source,
                                                 Index step, bool buffered) {
  const TensorInstance& tensor = context_.tensors.at(fetch.piece.tensor);
  const Box& box = fetch.piece.box;
  const bool own = source == context_.me;
  Index& window = own ? footprint_.loaded : footprint_.fetched;
  auto piece =
      (tensor.sized() && !own) || !buffered
          ? std::make_shared<RemotePiece>(window, fetch.bytes.expected_bytes(), box)
          : std::make_shared<RemotePiece>(window, context_.store.allocate(box.volume() * tensor.element_bytes()), box);
  piece->step = step;
  piece->site = operation.op().site;
  piece->source = source;
  if (own) return piece;
  piece->request = ++requests_;
  piece->operation = static_cast<std::uint32_t>(operation.number);
  piece->panel = operation.step.panel;
  if (context_.options.trace != nullptr) piece->asked = context_.now();
  return piece;
}

/// Prepares for the piece's answer; returns the slot of its request.
Index Fetches::expect(const std::shared_ptr<RemotePiece>& piece, const plan::Fetch& fetch,
                      const TensorInstance& tensor) {
  const int source = piece->source;
  if (tensor.sized()) return sized_.expect(piece, source, fetch.bytes);
  return lists_.expect(piece, tensor.element_bytes());
}

void Fetches::fetch(OperationRun& operation, Index step) {
  std::map<int, std::vector<Request>> batches;  // receives are posted before any request is sent
  for (const plan::Fetch& fetch : operation.step.fetch) {
    TensorInstance& tensor = context_.tensors.at(fetch.piece.tensor);
    if (fetch.owner == context_.me) {
      auto piece = make_piece(fetch, operation, context_.me, step);
      disk_.load(tensor, piece, fetch.piece.block);
      operation.pieces_of(fetch.piece.tensor).emplace(fetch.piece, std::move(piece));
      continue;
    }
    const std::shared_ptr<Meetings> meetings =
        fetch.listed < 0 ? nullptr : lists_.meetings_of(operation, static_cast<std::size_t>(fetch.listed));
    const plan::TreePlace place = plan::place_of_fetch(operation.space, operation.step, fetch, context_.me);
    const bool in_place = leases_.apply(tensor, fetch, place);
    auto piece = make_piece(fetch, operation, static_cast<int>(place.parent), step, meetings == nullptr && !in_place);
    Request request{fetch.piece.tensor, fetch.piece.block, fetch.piece.box, context_.me};
    request.site = piece->site;
    request.number = piece->request;
    if (meetings != nullptr) {
      operation.pieces_of(fetch.piece.tensor).emplace(fetch.piece, piece);
      const int source = piece->source;
      const auto asked = lists_.ask(*meetings, {std::move(piece), request, tensor.element_bytes()}, fetch.bytes);
      if (asked) batches[source].push_back(*asked);
      continue;
    }
    request.in_place = in_place;
    request.slot = in_place ? leases_.expect(piece) : expect(piece, fetch, tensor);
    const RelayKey key{operation.number, operation.step.super_block, fetch.piece};
    if (place.parent != fetch.owner) {
      request.operation = key.operation;
      request.super_block = key.super_block;
    }
    batches[piece->source].push_back(request);
    if (!place.children.empty()) {
      Relay& relay = relays_.at(key);
      relay.element_bytes = tensor.element_bytes();
      relay.sized = tensor.sized();
      relays_.hold(relay, piece, place.children.size());
    }
    operation.pieces_of(fetch.piece.tensor).emplace(fetch.piece, std::move(piece));
  }
  for (const auto& [source, requests] : batches) outbox_.tell(source, wire::kRequests, wire::encode_requests(requests));
}

}  // namespace tdsl::rt
