#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/kernels/copy.h"
#include "runtime/plan/region/homes.h"

// Blocks that are not in memory: on the disk, or in the file of the input they are of. Note [Away]

namespace tdsl::rt {

// Note [Away]
// A block whose home is not memory is in one of three states: being computed; complete, with a buffer, while it is
// written; away, without one. Tasks of this rank never see its buffer: what they read of it is a piece that their step
// fetches, like one of another rank's, and counts there; its read begins when the block is away. A peer's request is
// answered from the buffer while there is one, later from a piece read for it alone. At most two of these are in
// memory, which admission keeps room for: they wait for nothing but the disk and the peer, which has posted its
// receive. So a request for a block that is complete is always answered, as it must be (README.md, "Why trees do not
// deadlock"). The least step may wait for memory that the disk is about to give back; nothing that the disk does waits
// for a step.

/// The input is not loaded: all its blocks but the resident ones are away from the beginning.
void Engine::State::leave_in_file(TensorInstance& tensor, const OperationRun& operation) {
  tensor.read_file = [planned = operation.planned, kernel = operation.kernel, number = operation.number,
                      watch = options.watch](const Box& box, std::byte* to) {
    const Operand output = row_major(to, box);
    std::vector<Interval> labels(box.dim.begin(), box.dim.begin() + box.rank);
    TaskArgs args;
    args.labels = labels;
    args.outputs = std::span(&output, 1);
    args.out_box = box;
    kernel(args);
    if (watch != nullptr) watch->complete(number, planned->op, 0, output, {});
  };
  std::vector<Index> away;
  tensor.placed.distribution.for_each_owned(me, [&](const plan::Coord& tile) {
    if (tensor.away(tile)) away.push_back(tensor.placed.distribution.linear(tile));
  });
  for (const Index number : away) {
    Block& block = tensors.block(tensor, number);
    block.away = true;
    complete_block(tensor, number);
  }
}

/// The block is complete and does not stay here.
void Engine::State::write_back(TensorInstance& tensor, Index number) {
  Block& block = tensors.block(tensor, number);
  if (block.away) return;  // it has never been here
  if (!tensor.named && tensor.readers == 0 && block.unheld() && block.waiting_loads.empty()) return;
  if (bytes_of(block.buffer) == 0) {
    block.away = true;
    return;
  }
  block.extent = options.disk->extents().take(block.buffer->bytes());
  ++block.transfers;
  ++writes;
  profile.sites.at(tensor.site).disk_written += block.buffer->bytes();
  const std::span<const std::byte> bytes(block.buffer->data(), static_cast<std::size_t>(block.buffer->bytes()));
  options.disk->write(block.extent->offset(), bytes,
                      enter_transfer({DiskTransfer::Kind::kWrite, &tensor, number, block.buffer, nullptr, {}}));
}

void Engine::State::load_piece(TensorInstance& tensor, const std::shared_ptr<RemotePiece>& piece, Index number) {
  Block& block = tensors.block(tensor, number);
  ++block.transfers;
  if (!block.away) {
    block.waiting_loads.push_back(piece);
    return;
  }
  begin_read({DiskTransfer::Kind::kLoad, &tensor, number, piece->buffer, piece, {}}, piece->box);
}

/// Requests of peers, as many at a time as there is room for.
void Engine::State::serve() {
  while (serving < plan::kMostServed && !to_serve.empty()) {
    const auto [tensor, request] = std::move(to_serve.front());
    to_serve.pop_front();
    BufferRef buffer = store.allocate(request.box.volume() * tensor->element_bytes());
    ++serving;
    footprint.serving += buffer->bytes();
    begin_read({DiskTransfer::Kind::kServe, tensor, request.block, std::move(buffer), nullptr, request}, request.box);
  }
}

std::uint64_t Engine::State::enter_transfer(DiskTransfer transfer) {
  if (transfers.empty()) profile.front.use_disk(now(), true);
  transfers.emplace(next_transfer, std::move(transfer));
  return next_transfer++;
}

void Engine::State::begin_read(DiskTransfer transfer, const Box& box) {
  TensorInstance& tensor = *transfer.tensor;
  const Block& block = tensors.block(tensor, transfer.block);
  const Index offset = block.extent != nullptr ? block.extent->offset() : 0;
  const Box whole = tensor.box_of(transfer.block);
  const BufferRef buffer = transfer.buffer;
  if (transfer.kind == DiskTransfer::Kind::kLoad) profile.sites.at(transfer.piece->site).disk_read += buffer->bytes();
  const std::uint64_t cookie = enter_transfer(std::move(transfer));
  if (tensor.read_file) {
    // The transfer holds the buffer: a request of the disk's may live a little longer than its completion.
    options.disk->load([read = tensor.read_file, box, to = buffer->data()] { read(box, to); }, buffer->bytes(), cookie);
  } else {
    options.disk->read({offset, tensor.element_bytes(), whole, box}, buffer->data(), cookie);
  }
}

/// By a thread of the disk's, without the lock.
void Engine::State::on_disk_completion(int thread) noexcept {
  const TraceScope traced(options.trace != nullptr ? &options.trace->of_disk(thread) : nullptr);
  try {
    take_disk();
    poll();
  } catch (...) { failure.fail(std::current_exception()); }
}

bool Engine::State::take_disk() {
  std::vector<DiskCompletion> done;
  const Lock lock(mutex);
  if (options.disk->test_some(done) == 0) return false;
  for (const DiskCompletion& completion : done) {
    const auto found = transfers.find(completion.cookie);
    TDSL_CHECK(found != transfers.end(), "a transfer that completes was begun");
    const DiskTransfer transfer = std::move(found->second);
    transfers.erase(found);
    if (transfers.empty()) profile.front.use_disk(now(), false);
    if (failure.failed()) continue;
    if (thread_trace != nullptr) tracer.transfer(transfer, completion);
    if (!completion.error.empty()) stop_for_disk(transfer, completion.error);
    end_transfer(transfer);
  }
  if (failure.failed()) return true;
  admit();
  ready.wake_all();
  return true;
}

void Engine::State::stop_for_disk(const DiskTransfer& transfer, const std::string& error) const {
  const bool in_file = transfer.tensor->read_file != nullptr;
  throw RunError("`" + transfer.tensor->placed.desc.name + "`, " +
                 (in_file ? "which stays in its file: " : "of which blocks are on disk: ") + error);
}

void Engine::State::end_transfer(const DiskTransfer& transfer) {
  TensorInstance& tensor = *transfer.tensor;
  Block& block = tensors.block(tensor, transfer.block);
  switch (transfer.kind) {
    case DiskTransfer::Kind::kWrite:
      --writes;
      --block.transfers;
      block.away = true;
      block.buffer.reset();
      sends_of_away += block.sends;
      for (const std::shared_ptr<RemotePiece>& piece : std::exchange(block.waiting_loads, {})) {
        begin_read({DiskTransfer::Kind::kLoad, &tensor, transfer.block, piece->buffer, piece, {}}, piece->box);
      }
      break;
    case DiskTransfer::Kind::kLoad:
      --block.transfers;
      ready.arrive(*transfer.piece);
      break;
    case DiskTransfer::Kind::kServe: {
      // `sends` has counted it since it was asked for.
      const std::uint64_t cookie = in_flight.enter_answer(
          {.tensor = &tensor, .block = transfer.block, .buffer = transfer.buffer, .served = true}, transfer.request,
          transfer.buffer->bytes());
      outbox.send(transfer.request, row_major(transfer.buffer->data(), transfer.request.box), tensor.element_bytes(),
                  cookie);
      return;
    }
  }
  tensors.free_if_unheld(tensor, transfer.block);
}

/// Whether memory is about to be given back by the disk, or by peers that have asked for what has gone there since or
/// is read for them alone.
bool Engine::State::disk_holds_memory() const {
  return writes > 0 || sends_of_away > 0 || footprint.serving > options.serve_reserve;
}

}  // namespace tdsl::rt
