#include "runtime/engine/store/disk_transfers.h"

#include "runtime/disk/disk.h"
#include "runtime/kernels/copy.h"
#include "runtime/plan/region/homes.h"

namespace tdsl::rt {

void DiskTransfers::leave_in_file(TensorInstance& tensor, const OperationRun& operation) {
  tensor.read_file = [planned = operation.planned, kernel = operation.kernel, number = operation.number,
                      watch = context_.options.watch](const Box& box, std::byte* to) {
    const Operand output = row_major(to, box);
    std::vector<Interval> labels(box.dim.begin(), box.dim.begin() + box.rank);
    TaskArgs args;
    args.labels = labels;
    args.outputs = std::span(&output, 1);
    args.out_box = box;
    kernel(args);
    if (watch != nullptr) watch->complete(number, planned->op, 0, output, {});
  };
  tensor.placed.distribution.for_each_owned(context_.me, [&](const plan::Coord& tile) {
    if (!tensor.away(tile)) return;
    // The tensor is new and named: nothing waits for the block or frees it.
    Block& block = context_.tensors.block(tensor, tensor.placed.distribution.linear(tile));
    block.away = block.complete = true;
    --tensor.incomplete;
  });
}

void DiskTransfers::write_back(TensorInstance& tensor, Index number) {
  Block& block = context_.tensors.block(tensor, number);
  if (!tensor.named && tensor.readers == 0 && block.unheld() && block.waiting_loads.empty()) return;
  const Index bytes = bytes_of(block.buffer);
  if (bytes == 0) {
    block.away = true;
    return;
  }
  Disk& disk = *context_.options.disk;
  block.extent = disk.extents().take(bytes);
  ++block.transfers;
  ++writes_;
  profile_.sites.at(tensor.site).disk_written += bytes;
  disk.write(block.extent->offset(), {block.buffer->data(), static_cast<std::size_t>(bytes)},
             enter({.kind = DiskTransfer::Kind::kWrite, .tensor = &tensor, .block = number, .buffer = block.buffer}));
}

void DiskTransfers::load(TensorInstance& tensor, const std::shared_ptr<RemotePiece>& piece, Index number) {
  Block& block = context_.tensors.block(tensor, number);
  ++block.transfers;
  if (!block.away) {
    block.waiting_loads.push_back(piece);
    return;
  }
  begin_read({DiskTransfer::Kind::kLoad, &tensor, number, piece->buffer, piece, {}}, piece->box);
}

void DiskTransfers::serve(TensorInstance& tensor, const Request& request) {
  to_serve_.emplace_back(&tensor, request);
  serve_next();
}

void DiskTransfers::serve_next() {
  while (serving_ < plan::kMostServed && !to_serve_.empty()) {
    const auto [tensor, request] = std::move(to_serve_.front());
    to_serve_.pop_front();
    BufferRef buffer = context_.store.allocate(request.box.volume() * tensor->element_bytes());
    ++serving_;
    footprint_.serving += buffer->bytes();
    begin_read({DiskTransfer::Kind::kServe, tensor, request.block, std::move(buffer), nullptr, request}, request.box);
  }
}

void DiskTransfers::end_serve(BufferRef buffer) {
  --serving_;
  footprint_.serving -= bytes_of(buffer);
  buffer.reset();
  serve_next();
}

std::uint64_t DiskTransfers::enter(DiskTransfer transfer) {
  if (transfers_.empty()) profile_.front.use_disk(context_.now(), true);
  return transfers_.enter(std::move(transfer));
}

DiskTransfer DiskTransfers::take(std::uint64_t cookie) {
  DiskTransfer transfer = transfers_.take(cookie);
  if (transfers_.empty()) profile_.front.use_disk(context_.now(), false);
  return transfer;
}

void DiskTransfers::begin_read(DiskTransfer transfer, const Box& box) {
  TensorInstance& tensor = *transfer.tensor;
  const Block& block = context_.tensors.block(tensor, transfer.block);
  const Index offset = block.extent != nullptr ? block.extent->offset() : 0;
  const Box whole = tensor.box_of(transfer.block);
  const BufferRef buffer = transfer.buffer;
  if (transfer.kind == DiskTransfer::Kind::kLoad) profile_.sites.at(transfer.piece->site).disk_read += buffer->bytes();
  const std::uint64_t cookie = enter(std::move(transfer));
  Disk& disk = *context_.options.disk;
  if (tensor.read_file) {
    // The transfer holds the buffer: a disk request may outlive its completion.
    disk.load([read = tensor.read_file, box, to = buffer->data()] { read(box, to); }, buffer->bytes(), cookie);
  } else {
    disk.read({offset, tensor.element_bytes(), whole, box}, buffer->data(), cookie);
  }
}

void DiskTransfers::end_write(const DiskTransfer& transfer) {
  TensorInstance& tensor = *transfer.tensor;
  Block& block = context_.tensors.block(tensor, transfer.block);
  --writes_;
  --block.transfers;
  block.away = true;
  block.buffer.reset();
  sends_of_away_ += block.sends;
  for (const std::shared_ptr<RemotePiece>& piece : std::exchange(block.waiting_loads, {}))
    begin_read({DiskTransfer::Kind::kLoad, &tensor, transfer.block, piece->buffer, piece, {}}, piece->box);
}

bool DiskTransfers::hold_memory() const {
  return writes_ > 0 || sends_of_away_ > 0 || footprint_.serving > context_.options.serve_reserve;
}

}  // namespace tdsl::rt
