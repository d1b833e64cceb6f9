#include "runtime/engine/engine.h"

#include <omp.h>

#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/engine/watch/heartbeat.h"
#include "runtime/engine/wire.h"

namespace tdsl::rt {

Engine::State::State(World& w, Store& s, plan::TensorLookup outside, EngineOptions o)
    : Context(w, s, std::move(o)),
      delays(options.delay_seed == 0 ? 0 : options.delay_seed + static_cast<std::uint64_t>(w.rank())),
      tracer(*this),
      outbox(*this),
      in_flight(*this),
      footprint(*this),
      sized(*this, footprint, outbox, in_flight),
      disk(*this, footprint, profile),
      fetches(*this, footprint, outbox, in_flight, sized, disk, relays),
      answers(*this, outbox, in_flight, sized, disk, relays),
      admission(*this, footprint, in_flight, sized, disk, relays),
      operations(*this, ready, std::move(outside)),
      tasks(*this, footprint, ready, operations, answers, disk),
      calls(*this, footprint, profile, [this](const TaskRun& task, Index bytes) { check_block(task, bytes); }),
      failure(*this, outbox, ready),
      boundaries(w.rank(), w.size()) {}

Engine::Engine(World& world, Store& store, plan::TensorLookup lookup, EngineOptions options)
    : state_(std::make_unique<State>(world, store, std::move(lookup), std::move(options))) {}

Engine::~Engine() = default;

void Engine::use_disk(Disk& disk, plan::Index serve_reserve) {
  State& s = *state_;
  {
    const Lock lock(s.mutex);
    s.options.disk = &disk;
    s.options.serve_reserve = serve_reserve;
    s.asks_disk = disk.must_be_asked();
    if (s.options.trace != nullptr) s.tracer.compare_clocks();
  }
  disk.tell([&s](int thread) { s.on_disk_completion(thread); });
}

void Engine::run(const std::function<void()>& program) {
  State& s = *state_;
  s.program_works = true;
  if (s.options.disk != nullptr) use_disk(*s.options.disk, s.options.serve_reserve);
  if (s.world.size() > 1) s.heart.emplace(s.me, s.world.size(), s.options.heartbeat, s.now());
#pragma omp parallel num_threads(s.options.threads)
  {
    const int thread = omp_get_thread_num();
    const TraceScope scope(s.options.trace != nullptr ? &s.options.trace->buffer(thread) : nullptr);
    if (thread != 0) {
      s.work();
    } else {
      try {
        program();
      } catch (const RunStopped&) {
        // The failure is known already.
      } catch (...) { s.failure.fail(std::current_exception()); }
      if (s.failure.failed()) s.failure.settle([&s] { s.poll(); });
      const Lock lock(s.mutex);
      s.stopping = true;
      s.ready.wake_all();
    }
  }
  if (s.options.disk != nullptr) {
    s.options.disk->stop();
    s.options.disk->tell(nullptr);
  }
  s.stopping = false;
  s.profile.front.settle(s.now());
  if (const auto& verdict = s.failure.verdict()) throw RunError(verdict->text, verdict->code);
}

bool Engine::failed_alike() const {
  const Lock lock(state_->mutex);
  const std::optional<Failure::Verdict>& verdict = state_->failure.verdict();
  return verdict && verdict->agreed && verdict->code != kLostRank;
}

void Engine::submit(std::shared_ptr<const plan::PlannedOp> op, Kernel kernel,
                    const std::vector<plan::TensorId>& last_names, Lend lend) {
  state_->submit(std::move(op), std::move(kernel), last_names, std::move(lend));
  state_->poll();
}

void Engine::release(plan::TensorId tensor) {
  const Lock lock(state_->mutex);
  state_->tensors.drop_name(tensor);
}

void Engine::wait_all() {
  state_->work_until([this] { return state_->operations.oldest() == nullptr; });
}

Engine::Count Engine::operations() const {
  const Lock lock(state_->mutex);
  return {state_->operations.submitted(), state_->operations.complete()};
}

void Engine::wait_for(plan::Index operations) {
  state_->work_until([this, operations] { return state_->operations.complete() >= operations; });
}

void Engine::wait(plan::TensorId tensor) {
  state_->work_until([this, tensor] {
    const TensorInstance* instance = state_->tensors.find(tensor);
    return instance == nullptr || instance->incomplete == 0;
  });
}

const std::byte* Engine::block_data(plan::TensorId tensor, plan::Index block) const {
  const Lock lock(state_->mutex);
  const Block& entry = state_->tensors.block(state_->tensors.at(tensor), block);
  TDSL_CHECK(entry.complete, "a block that is looked at is complete");
  return entry.buffer != nullptr ? entry.buffer->data() : nullptr;
}

std::string Engine::share(std::string text) {
  State& s = *state_;
  const Index number = s.shares++;
  if (s.world.rank() != 0) {
    s.waits_for = "a text of rank 0";
    s.work_until([&s, number] { return s.shared_texts.contains(number); });
    const Lock lock(s.mutex);
    return std::move(s.shared_texts.extract(number).mapped());
  }
  {
    const Lock lock(s.mutex);
    s.outbox.tell_others(wire::kShare, wire::encode_note({number, text}));
  }
  s.poll();
  return text;
}

void Engine::finish() {
  State& s = *state_;
  wait_all();
  if (s.world.size() == 1) return s.work_until([&s] { return s.disk.empty(); });
  s.waits_for = "the other ranks, at the end";
  {
    const Lock lock(s.mutex);
    s.in_flight.barrier_over = false;
    s.outbox.enqueue(PostBarrier{});
  }
  s.work_until([&s] { return s.in_flight.barrier_over && s.in_flight.empty() && s.disk.empty(); });
  TDSL_CHECK(s.relays.holding() == 0, "every relay has served its children");
  TDSL_CHECK(s.sized.over(), "every sized block has been sent to its requesters");
  TDSL_CHECK(!s.answers.any_early(), "every request is for a tensor that all ranks compute");
}

std::vector<SiteStatistics> Engine::statistics() const {
  const Lock lock(state_->mutex);
  std::vector<SiteStatistics> list;
  for (const auto& [number, site] : state_->profile.sites) {
    SiteStatistics& entry = list.emplace_back(site);
    const Traffic traffic = state_->world.statement_traffic(number);
    entry.bytes_received = traffic.bytes_received;
    entry.bytes_sent = traffic.bytes_sent;
    entry.messages = traffic.messages_received;
    entry.front = state_->profile.front.at(number);
  }
  return list;
}

Front::Seconds Engine::between_steps() const {
  const Lock lock(state_->mutex);
  return state_->profile.front.at(Front::kNowhere);
}

Silence Engine::silence() const {
  const Lock lock(state_->mutex);
  return state_->profile.silence;
}

plan::Index Engine::packed_bytes() const {
  const Lock lock(state_->mutex);
  return state_->profile.packed_bytes;
}

Engine::DiskFigures Engine::disk() const {
  const Lock lock(state_->mutex);
  const Disk* const disk = state_->options.disk;
  if (disk == nullptr) return {};
  return {disk->traffic().written, disk->traffic().read + disk->traffic().loaded, disk->extents().used_bytes(),
          disk->extents().peak_bytes()};
}

plan::Index Engine::live_blocks() const {
  const Lock lock(state_->mutex);
  return state_->tensors.live_blocks();
}

}  // namespace tdsl::rt
