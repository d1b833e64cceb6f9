#include "runtime/engine/engine.h"

#include <omp.h>

#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/engine/watch/heartbeat.h"

namespace tdsl::rt {

Engine::State::State(World& world, Store& store, plan::TensorLookup outside, EngineOptions options)
    : context(world, store, std::move(options)),
      delays(context.options.delay_seed == 0 ? 0 : context.options.delay_seed + static_cast<std::uint64_t>(context.me)),
      operations(context, ready, std::move(outside)) {}

RankStatus Engine::State::status() {
  RankStatus status;
  status.live_bytes = context.store.live_bytes();
  for (const auto& [number, site] : profile.sites) {
    status.tasks += site.tasks;
    status.flops += site.flops;
  }
  status.finished = operations.complete();
  status.busy = workers.running > 0 || !ready.empty() || in_flight.any_send() || !disk.empty() || outbox.filled() ||
                workers.program_works;
  if (operations.oldest() == nullptr) {
    status.waiting = workers.program_works ? Waiting::kProgram : Waiting::kRanks;
    status.name = workers.waits_for;
    return status;
  }
  describe(*operations.oldest(), context, in_flight, status);
  return status;
}

/// After a failure: running kernels end, and rank 0 counts their notes.
void Engine::State::settle() {
  failure.settle([this] { poll(); },
                 [this] { return workers.running == 0 ? notices.end() : context.me == 0 && notices.settled(); });
}

Engine::Engine(World& world, Store& store, plan::TensorLookup lookup, EngineOptions options)
    : state_(std::make_unique<State>(world, store, std::move(lookup), std::move(options))) {}

Engine::~Engine() = default;

void Engine::use_disk(Disk& disk, plan::Index serve_reserve) {
  State& s = *state_;
  {
    const Lock lock(s.context.mutex);
    s.context.options.disk = &disk;
    s.context.options.serve_reserve = serve_reserve;
    s.polls.includes_disk = disk.must_be_asked();
    if (s.context.options.trace != nullptr) s.tracer.compare_clocks();
    s.ready.start_workers();  // the disk's threads make tasks ready while the program's thread runs one
  }
  disk.tell([&s](int thread) { s.on_disk_completion(thread); });
}

void Engine::run(const std::function<void()>& program) {
  State& s = *state_;
  s.workers.program_works = true;
  if (s.context.options.disk != nullptr) use_disk(*s.context.options.disk, s.context.options.serve_reserve);
  s.watching.begin();
#pragma omp parallel num_threads(1)
  {
    if (s.context.options.threads > 1) omp_set_num_threads(1);  // kernels of this thread open no teams either
    const TraceScope scope(s.context.options.trace != nullptr ? &s.context.options.trace->buffer(0) : nullptr);
    try {
      s.begin_workers();
      program();
    } catch (const RunStopped&) {
      // The failure is already recorded.
    } catch (...) { s.failure.fail(std::current_exception()); }
    if (s.failure.failed()) s.settle();
  }
  s.end_workers();
  if (s.context.options.disk != nullptr) {
    s.context.options.disk->stop();
    s.context.options.disk->tell(nullptr);
  }
  {
    const Lock lock(s.context.mutex);
    if (s.failure.failed()) s.failure.end();
    s.workers.stopping = false;
    s.profile.front.settle(s.context.now());
  }
  if (const auto& verdict = s.failure.verdict()) throw RunError(verdict->text, verdict->code);
}

bool Engine::failed_alike() const {
  const Lock lock(state_->context.mutex);
  const std::optional<Failure::Verdict>& verdict = state_->failure.verdict();
  return verdict && verdict->agreed && verdict->code != kLostRank;
}

void Engine::submit(std::shared_ptr<const plan::PlannedOp> op, Kernel kernel,
                    const std::vector<plan::TensorId>& last_names, Lend lend) {
  State& s = *state_;
  s.submit(std::move(op), std::move(kernel), last_names, std::move(lend));
  if (!s.poll()) return;
  const Lock lock(s.context.mutex);
  s.ready.offer(false);
}

std::shared_ptr<RepeatedOperation> Engine::list(std::shared_ptr<plan::PlannedOp> op) {
  const Lock lock(state_->context.mutex);
  return state_->repeats.list(std::move(op));
}

bool Engine::is_small(std::span<const Repeat> segment) const {
  const Lock lock(state_->context.mutex);
  return state_->repeats.is_small(segment);
}

void Engine::repeat(std::span<Repeat> segment) { state_->repeat(segment); }

void Engine::release(plan::TensorId tensor) {
  const Lock lock(state_->context.mutex);
  state_->context.tensors.drop_name(tensor);
}

void Engine::wait_all() {
  state_->work_until([this] { return state_->operations.oldest() == nullptr; });
}

Engine::Count Engine::operations() const {
  const Lock lock(state_->context.mutex);
  return {state_->operations.submitted(), state_->operations.complete()};
}

void Engine::wait_for(plan::Index operations) {
  state_->work_until([this, operations] { return state_->operations.complete() >= operations; });
}

void Engine::wait(plan::TensorId tensor) {
  state_->work_until([this, tensor] {
    const TensorInstance* instance = state_->context.tensors.find(tensor);
    return instance == nullptr || instance->incomplete == 0;
  });
}

const std::byte* Engine::block_data(plan::TensorId tensor, plan::Index block) const {
  const Lock lock(state_->context.mutex);
  const Block& entry = state_->context.tensors.block(state_->context.tensors.at(tensor), block);
  TDSL_CHECK(entry.complete, "a block that is looked at is complete");
  return entry.buffer != nullptr ? entry.buffer->data() : nullptr;
}

void Engine::finish() {
  State& s = *state_;
  wait_all();
  s.work_until([&s] { return s.context.me != 0 || s.notices.settled(); });
  if (s.context.single()) return s.work_until([&s] { return s.disk.empty(); });
  s.workers.waits_for = "the other ranks, at the end";
  {
    const Lock lock(s.context.mutex);
    s.in_flight.barrier_over = false;
    s.outbox.enqueue(PostBarrier{});
  }
  s.work_until([&s] { return s.in_flight.barrier_over && s.in_flight.empty() && s.disk.empty(); });
  s.lists.clear();
  TDSL_CHECK(s.relays.holding() == 0, "every relay has served its children");
  TDSL_CHECK(s.sized.over(), "every sized block has been sent to its requesters");
  TDSL_CHECK(!s.answers.any_early(), "every request is for a tensor that all ranks compute");
}

RankStatus Engine::status() const {
  RankStatus status;
  {
    const Lock lock(state_->context.mutex);
    status = state_->status();
  }
  status.received = state_->context.world.total_traffic().bytes_received;
  return status;
}

std::vector<SiteStatistics> Engine::statistics() const {
  const Lock lock(state_->context.mutex);
  std::vector<SiteStatistics> list;
  for (const auto& [number, site] : state_->profile.sites) {
    SiteStatistics& entry = list.emplace_back(site);
    const Traffic traffic = state_->context.world.statement_traffic(number);
    entry.bytes_lent = state_->leases.lent(number);
    entry.bytes_received = traffic.bytes_received + entry.bytes_in_place;
    entry.bytes_sent = traffic.bytes_sent + entry.bytes_lent;
    entry.messages = traffic.messages_received + entry.leases;
    entry.front = state_->profile.front.at(number);
  }
  return list;
}

Front::Seconds Engine::between_steps() const {
  const Lock lock(state_->context.mutex);
  return state_->profile.front.at(Front::kNowhere);
}

Silence Engine::silence() const {
  const Lock lock(state_->context.mutex);
  return state_->profile.silence;
}

plan::Index Engine::packed_bytes() const {
  const Lock lock(state_->context.mutex);
  return state_->profile.packed_bytes;
}

Engine::DiskFigures Engine::disk() const {
  const Lock lock(state_->context.mutex);
  const Disk* const disk = state_->context.options.disk;
  if (disk == nullptr) return {};
  return {disk->traffic().written, disk->traffic().read + disk->traffic().loaded, disk->extents().used_bytes(),
          disk->extents().peak_bytes()};
}

plan::Index Engine::live_blocks() const {
  const Lock lock(state_->context.mutex);
  return state_->context.tensors.live_blocks();
}

}  // namespace tdsl::rt
