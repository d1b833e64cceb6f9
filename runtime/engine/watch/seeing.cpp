#include "runtime/engine/engine_state.h"

// What --profile and --trace show of the engine. All but trace_control under the lock.

namespace tdsl::rt {

namespace {

/// Seconds between two samples of memory: at least this, and a few thousand in all.
constexpr double kMemoryEvery = 1e-3;
constexpr double kMemorySamples = 4096;

}  // namespace

/// Whatever admits a step or ends one may move the front.
void Engine::State::move_front() {
  int site = open_steps.least_site(Front::kNowhere);
  // A step that has to wait for room holds up the rank, too.
  if (site == Front::kNowhere && !to_admit.empty()) site = to_admit.front()->op().site;
  if (site != front.site()) front.move(now(), site);
}

void Engine::State::IdleTime::begin() {
  if (since_ != kNever) return;
  since_ = state_.now();
  site_ = state_.front.site();
  state_.front.idle(since_, 1);
}

void Engine::State::IdleTime::end() {
  if (since_ == kNever) return;
  const double time = state_.now();
  state_.front.idle(time, -1);
  if (thread_trace != nullptr) thread_trace->add(state_.traced(TraceKind::kWait, since_, time).site(site_));
  since_ = kNever;
}

void Engine::State::note_request(RemotePiece& piece, const OperationRun& operation, int source) {
  piece.source = source;
  piece.request = ++requests_made;
  piece.operation = static_cast<std::uint32_t>(operation.number);
  piece.panel = operation.step.panel;
  if (options.trace != nullptr) piece.asked = now();
}

/// Seconds of the engine's become those of the common clock.
TraceEvent Engine::State::traced(TraceKind kind, double start, double end) const {
  return {kind, options.trace->at(began + start), end - start};
}

void Engine::State::trace_task(const TaskRun& task, double start, double end) {
  const OperationRun& operation = *task.operation;
  Index bytes = 0;  // the tensors themselves may be gone
  for (const plan::TensorDesc& output : operation.op().outputs)
    bytes += output.sized() ? 0 : task.out_box.volume() * output.element.bytes;
  thread_trace->add(traced(TraceKind::kTask, start, end)
                        .site(operation.op().site)
                        .step(operation.number, task.panel)
                        .bytes(bytes)
                        .request(task.last_request));
  trace_memory(end);
}

void Engine::State::trace_memory(double time) {
  if (memory_traced >= 0 && time - memory_traced < std::max(kMemoryEvery, time / kMemorySamples)) return;
  memory_traced = time;
  thread_trace->add(traced(TraceKind::kMemory, time, 0).bytes(store.live_bytes()));
}

void Engine::State::trace_received(const RemotePiece& piece) {
  thread_trace->add(traced(TraceKind::kReceive, piece.asked, now())
                        .peer(piece.source)
                        .site(piece.site)
                        .step(piece.operation, piece.panel)
                        .bytes(bytes_of(piece.buffer))
                        .request(piece.request));
}

void Engine::State::trace_sent(const InFlight::Sent& sent) {
  if (thread_trace == nullptr) return;
  thread_trace->add(traced(TraceKind::kSend, sent.when, now())
                        .peer(sent.peer)
                        .site(sent.site)
                        .bytes(sent.bytes)
                        .request(sent.request));
}

/// The system may take the processor away between two looks: the closest ones of several count.
void Engine::State::compare_clocks() {
  constexpr int kLooks = 10;
  const auto look = [] {
    return std::chrono::duration<double>(DiskCompletion::Clock::now().time_since_epoch()).count();
  };
  double least = 0;
  for (int k = 0; k < kLooks; ++k) {
    const double before = look();
    const double here = now();
    const double after = look();
    if (k > 0 && after - before >= least) continue;
    least = after - before;
    disk_zero = here - (before + after) / 2;
  }
}

/// When and by whom the disk says.
void Engine::State::trace_transfer(const Transfer& transfer, const DiskCompletion& completion) {
  const auto moment = [this](DiskCompletion::Clock::time_point when) {
    return disk_zero + std::chrono::duration<double>(when.time_since_epoch()).count();
  };
  const bool write = transfer.kind == Transfer::Kind::kWrite;
  const RemotePiece* const piece = transfer.piece.get();
  TraceEvent event =
      traced(write ? TraceKind::kDiskWrite : TraceKind::kDiskRead, moment(completion.begun), moment(completion.ended));
  event.peer(completion.thread)
      .bytes(bytes_of(transfer.buffer))
      .request(static_cast<std::uint32_t>(transfer.tensor->site));
  if (piece != nullptr) event.step(piece->operation, piece->panel);
  thread_trace->add(event.site(write ? transfer.tensor->site : piece != nullptr ? piece->site : transfer.request.site));
}

/// Outside the lock.
void Engine::State::trace_control(const PostControl& posting, double start) {
  thread_trace->add(
      traced(TraceKind::kControl, start, now()).peer(posting.target).bytes(static_cast<Index>(posting.bytes.size())));
}

}  // namespace tdsl::rt
