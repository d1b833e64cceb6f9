#include "runtime/engine/messages/answers.h"

#include <utility>

#include "runtime/kernels/copy.h"
#include "runtime/plan/steps/tree.h"

namespace tdsl::rt {

void Answers::expect(const OperationRun& operation) {
  if (context_.single()) return;
  const plan::Index me = context_.me;
  const Index ranks_per_node = operation.planned->plan.ranks_per_node;
  for (TensorInstance* tensor : operation.operands) {
    const plan::Distribution& distribution = tensor->placed.distribution;
    if (distribution.everywhere()) continue;
    distribution.for_each_owned(me, [&](const plan::Coord& tile) {
      Index expected = 0;
      if (context_.world.size() > plan::least_tree(ranks_per_node) && !operation.space.by_lists(tensor->id())) {
        operation.space.for_each_wanted(tensor->id(), tile, me,
                                        [&](const plan::Piece&, const std::vector<Index>& ranks) {
                                          expected += plan::children_of_owner(ranks, me, ranks_per_node);
                                        });
      } else {
        operation.space.for_each_request(tensor->id(), tile, me,
                                         [&](Index, const plan::Piece&, Index times) { expected += times; });
      }
      if (expected > 0) context_.tensors.block(*tensor, distribution.linear(tile)).requests += expected;
    });
  }
}

void Answers::take(const Request& request) {
  if (request.operation >= 0) return take_relayed(request);
  TensorInstance* const tensor = context_.tensors.find(request.tensor);
  if (tensor == nullptr) {
    early_[request.tensor].push_back(request);
    return;
  }
  Block& block = context_.tensors.block(*tensor, request.block);
  if (block.complete) {
    answer(*tensor, request);
  } else {
    block.waiting_requests.push_back(request);
  }
}

void Answers::take_early(plan::TensorId tensor) {
  const auto early = early_.extract(tensor);
  if (early.empty()) return;
  for (const Request& request : early.mapped()) take(request);
}

void Answers::answer(TensorInstance& tensor, const Request& request) {
  Block& block = context_.tensors.block(tensor, request.block);
  --block.requests;
  ++block.sends;
  if (block.away) return disk_.serve(tensor, request);
  if (request.list >= 0) return answer_by_list(tensor, block, request);
  const Index bytes = tensor.sized() ? bytes_of(block.buffer) : request.box.volume() * tensor.element_bytes();
  const std::uint64_t cookie = in_flight_.enter_answer(
      {.tensor = &tensor, .block = request.block, .buffer = block.buffer, .lent = request.in_place}, request, bytes);
  if (tensor.sized()) return sized_.offer(request, block.buffer, cookie);
  const Operand whole = row_major(block.buffer->data(), tensor.box_of(request.block));
  const Operand box = part_of(whole, request.box, tensor.element_bytes());
  if (request.in_place) return leases_.lend(request, box.data, bytes, cookie);
  outbox_.send(request, box, tensor.element_bytes(), cookie);
}

/// The rows are packed outside the lock, when they are sent.
void Answers::answer_by_list(TensorInstance& tensor, const Block& block, const Request& request) {
  RowListRef rows = lists_.rows_of(request);
  const Index bytes = rows->rows * row_bytes(request.box, tensor.element_bytes());
  const BufferRef packed = bytes > 0 ? context_.store.allocate(bytes) : nullptr;
  const std::uint64_t cookie =
      in_flight_.enter_answer({.tensor = &tensor, .block = request.block, .buffer = packed}, request, bytes);
  outbox_.send_packed(request, packed, cookie,
                      {{std::move(rows), request.box, packed != nullptr ? packed->data() : nullptr},
                       row_major(block.buffer->data(), tensor.box_of(request.block)),
                       block.buffer,
                       tensor.element_bytes()});
}

void Answers::answer(const DiskTransfer& read) {
  const Request& request = read.request;
  const std::uint64_t cookie =
      in_flight_.enter_answer({.tensor = read.tensor, .block = read.block, .buffer = read.buffer, .served = true},
                              request, read.buffer->bytes());
  outbox_.send(request, row_major(read.buffer->data(), request.box), read.tensor->element_bytes(), cookie);
}

void Answers::take_relayed(const Request& request) {
  Relay& relay = relays_.at({request.operation, request.super_block, {request.tensor, request.block, request.box}});
  if (relay.piece != nullptr && relay.piece->arrived) {
    forward(relay, request);
  } else {
    relay.waiting.push_back(request);
  }
}

void Answers::forward(Relay& relay, const Request& request) {
  const BufferRef& buffer = relay.piece->buffer;
  const std::uint64_t cookie = in_flight_.enter_answer({.relay = &relay}, request, bytes_of(buffer));
  if (relay.sized) return sized_.offer(request, buffer, cookie);
  outbox_.send(request, row_major(buffer->data(), relay.piece->box), relay.element_bytes, cookie);
}

}  // namespace tdsl::rt
