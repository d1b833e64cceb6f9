#include "runtime/engine/watch/tracer.h"

#include <algorithm>
#include <chrono>

namespace tdsl::rt {

namespace {

/// Seconds between two samples of memory: at least this, and a few thousand samples in all.
constexpr double kMemoryEvery = 1e-3;
constexpr double kMemorySamples = 4096;

}  // namespace

void Tracer::task(const TaskRun& task, double start, double end) {
  const OperationRun& operation = *task.operation;
  Index bytes = 0;  // the tensors may be freed
  for (const plan::TensorDesc& output : operation.op().outputs)
    bytes += output.sized() ? 0 : task.out_box.volume() * output.element.bytes;
  thread_trace->add(event(TraceKind::kTask, start, end)
                        .site(operation.op().site)
                        .step(operation.number, task.panel)
                        .bytes(bytes)
                        .request(task.last_request));
  memory(end);
}

void Tracer::memory(double time) {
  if (memory_traced_ >= 0 && time - memory_traced_ < std::max(kMemoryEvery, time / kMemorySamples)) return;
  memory_traced_ = time;
  thread_trace->add(event(TraceKind::kMemory, time, 0).bytes(context_.store.live_bytes()));
}

void Tracer::received(const RemotePiece& piece) const {
  thread_trace->add(event(TraceKind::kReceive, piece.asked, context_.now())
                        .peer(piece.source)
                        .site(piece.site)
                        .step(piece.operation, piece.panel)
                        .bytes(bytes_of(piece.buffer))
                        .request(piece.request));
}

void Tracer::sent(const InFlight::Sent& sent) const {
  if (thread_trace == nullptr) return;
  thread_trace->add(event(TraceKind::kSend, sent.when, context_.now())
                        .peer(sent.peer)
                        .site(sent.site)
                        .bytes(sent.bytes)
                        .request(sent.request));
}

/// A thread may be preempted between two readings, so the closest pair counts.
void Tracer::compare_clocks() {
  constexpr int kLooks = 10;
  const auto look = [] {
    return std::chrono::duration<double>(DiskCompletion::Clock::now().time_since_epoch()).count();
  };
  double least = 0;
  for (int k = 0; k < kLooks; ++k) {
    const double before = look();
    const double here = context_.now();
    const double after = look();
    if (k > 0 && after - before >= least) continue;
    least = after - before;
    disk_zero_ = here - (before + after) / 2;
  }
}

void Tracer::transfer(const DiskTransfer& transfer, const DiskCompletion& completion) const {
  const auto moment = [this](DiskCompletion::Clock::time_point when) {
    return disk_zero_ + std::chrono::duration<double>(when.time_since_epoch()).count();
  };
  const bool write = transfer.kind == DiskTransfer::Kind::kWrite;
  const RemotePiece* const piece = transfer.piece.get();
  TraceEvent moved =
      event(write ? TraceKind::kDiskWrite : TraceKind::kDiskRead, moment(completion.begun), moment(completion.ended));
  moved.peer(completion.thread)
      .bytes(bytes_of(transfer.buffer))
      .request(static_cast<std::uint32_t>(transfer.tensor->site));
  if (piece != nullptr) moved.step(piece->operation, piece->panel);
  thread_trace->add(moved.site(write ? transfer.tensor->site : piece != nullptr ? piece->site : transfer.request.site));
}

void Tracer::control(const PostControl& posting, double start) const {
  thread_trace->add(event(TraceKind::kControl, start, context_.now())
                        .peer(posting.target)
                        .bytes(static_cast<Index>(posting.bytes.size())));
}

}  // namespace tdsl::rt
