#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/kernels/copy.h"

namespace tdsl::rt {

void Engine::State::take_request(const Request& request) {
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
  const Operand whole = row_major(block.buffer->data(), tensor.box_of(request.block));
  const std::uint64_t cookie = enter({nullptr, 0, 0, &tensor, request.block, block.buffer});
  enqueue(PostSend{request, tensor.element_bytes(), part_of(whole, request.box, tensor.element_bytes()), cookie});
}

}  // namespace tdsl::rt
