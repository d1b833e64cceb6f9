#include "runtime/app/checkpoint/checkpoints.h"

#include <cstdio>
#include <utility>

#include "runtime/app/run/run_program_signals.h"
#include "runtime/app/session/session_impl.h"
#include "runtime/message_id.h"
#include "runtime/plan/op_builder.h"
#include "runtime/plan/space/candidates.h"

namespace tdsl::rt {

using checkpoint::LiveTensor;
using checkpoint::Manifest;

namespace {

/// Default without --checkpoint-every: every kEvery seconds, at most 1/kShare of the run time.
constexpr double kEvery = 600, kShare = 50;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// An operation without operands that generates the tensor.
plan::Op source_of(plan::OpClass op_class, const plan::TensorDesc& tensor) {
  plan::OpBuilder op(op_class, tensor.name, 0, 0);
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    op.out("i" + std::to_string(d), tensor.shape[d]);
    if (tensor.is_uncut(d)) op.uncut();
  }
  op.flops(0).tile(tensor.tile);
  op.op().outputs = {tensor};
  return std::move(op.op());
}

std::string text_of(const record::Path& path) {
  std::string text;
  for (std::size_t d = 1; d < path.frames.size(); ++d)
    text += (d == 1 ? "iteration " : " / ") + std::to_string(path.frames[d].index);
  return text;
}

}  // namespace

Checkpoints::Checkpoints(Execution& execution, CheckpointFacts facts, std::optional<ResumePoint> resumed)
    : execution_(execution), facts_(std::move(facts)), resumed_(std::move(resumed)) {
  const AppOptions& options = execution_.setup.options;
  if (options.checkpoint_directory) folder_.emplace(*options.checkpoint_directory);
}

void Checkpoints::begin(const std::string& plan) {
  plan_ = plan;
  number_ = facts_.last;
  record::PathControl& control = execution_.control;
  control.follow(*this);
  if (folder_) tell_long_loops();
  if (!resumed_) return;
  const Manifest& manifest = resumed_->blocks->manifest();
  earlier_seconds_ = manifest.seconds;
  if (folder_ && facts_.last > 0) bases_.goes_on(manifest);  // resuming in the same directory
  control.replay(manifest.path);
  execution_.sink.begin_replay();
  if (execution_.setup.world.rank() != 0 || execution_.setup.options.quiet) return;
  std::fprintf(stderr, "resuming from `%s`, %s%s\n", resumed_->blocks->checkpoint().c_str(),
               text_of(manifest.path).c_str(),
               resumed_->same_setting ? "" : ("; replanned" + resumed_->why_anew).c_str());
}

/// Warns about loops that run as a single task: they have no boundaries.
void Checkpoints::tell_long_loops() {
  const RunSetup& setup = execution_.setup;
  if (setup.world.rank() != 0 || setup.options.quiet) return;
  const double interval = setup.options.checkpoint_every.value_or(kEvery);
  if (interval == 0) return;
  execution_.sink.tell_long_loops(interval, [&setup](const plan::Op& op, double seconds) {
    const SourceLine place = setup.info.at(op.line);
    std::fprintf(stderr,
                 "%.*s:%d: warning: this loop runs as one task of about %s, during which no checkpoint is written; the "
                 "checkpoint interval is %s [unsaved-loop]\n",
                 static_cast<int>(place.file.size()), place.file.data(), place.line, duration_text(seconds).c_str(),
                 duration_text(setup.options.checkpoint_every.value_or(kEvery)).c_str());
  });
}

const std::string* Checkpoints::earlier_plan() const {
  return resumed_ && resumed_->same_setting ? &resumed_->blocks->manifest().plan : nullptr;
}

void Checkpoints::at_boundary(const record::Path& path) {
  if (!folder_) return;
  bases_.at_boundary(execution_.recorder.numbers().tensor);
  const int asked = checkpoint_signals();
  const World& world = execution_.setup.world;
  const Wish mine = asked > 0 ? Wish::kStop : world.rank() == 0 && is_due() ? Wish::kSave : Wish::kNone;
  Engine& engine = execution_.sink.engine();
  const Engine::Count count = engine.operations();
  engine.wait_for(run_ahead_.at_boundary(count.submitted, count.complete, seconds_since(began_)));
  Wish here = engine.at_boundary(mine);
  if (execution_.setup.options.checkpoint_every == 0) here = std::max(here, Wish::kSave);
  if (++boundaries_ == facts_.stop_at) here = Wish::kStop;
  if (here == Wish::kNone) return;
  const auto begin = Clock::now();
  const bool saved = save(path);
  last_seconds_ = seconds_since(begin);
  saved_ = Clock::now();
  if (here != Wish::kStop) return;
  if (saved) throw StoppedAtCheckpoint{};
  take_checkpoint_signals(asked);
}

bool Checkpoints::is_due() const {
  const std::optional<double>& every = execution_.setup.options.checkpoint_every;
  if (every == 0) return false;  // 0 saves at every boundary anyway
  return seconds_since(saved_) >= every.value_or(std::max(kEvery, kShare * last_seconds_));
}

double Checkpoints::seconds() const { return seconds_since(began_); }

void Checkpoints::warn(const std::string& reason) const {
  if (execution_.setup.world.rank() != 0) return;
  std::fprintf(stderr, "warning: no checkpoint was written: %s [checkpoint]\n", without_id(reason).c_str());
}

/// Storage location of a restored tensor: the saved one, or the one the current plan gives to results of its site. With
/// a different layout fewer tiles may fit, so none is kept in memory.
plan::Housing Checkpoints::home_of(const LiveTensor& tensor, const plan::Op& restoring) const {
  if (resumed_->same_setting) return tensor.housing;
  plan::Op made = restoring;
  made.site = tensor.site;
  const bool away = execution_.sink.planner().inputs().housing_of(made).home != plan::Home::kMemory;
  return {away ? plan::Home::kDisk : plan::Home::kMemory, 0};
}

plan::Op Checkpoints::restoring(const LiveTensor& tensor) {
  plan::Op op = source_of(plan::OpClass::kRestore, tensor.known.desc);
  op.record = next_extra();
  execution_.sink.keep(op.record, resumed_->blocks->kernel(tensor));
  execution_.sink.restores(tensor.known.desc.id, tensor.site, home_of(tensor, op));
  return op;
}

void Checkpoints::restore(const LiveTensor& tensor, EngineSink::Replayed& put_by, plan::Segment& segment) {
  const plan::TensorDesc& desc = tensor.known.desc;
  plan::Op op;
  if (tensor.recorded_again) {
    const auto source = put_by.sources.find(desc.id);
    TDSL_CHECK(source != put_by.sources.end(), "a replay records " + desc.name + " again");
    op = std::move(source->second);
  } else {
    op = restoring(tensor);
  }
  if (!resumed_->same_setting || !tensor.where) {
    segment.ops.push_back(std::move(op));
    return;
  }
  std::optional<plan::Op> copy;
  if (tensor.copy) copy = plan::copy_of(op, desc);
  segment.settled.push_back({std::move(op), *tensor.where});
  if (copy) segment.settled.push_back({std::move(*copy), *tensor.copy, tensor.readers});
}

void Checkpoints::replayed() {
  record::Recorder& recorder = execution_.recorder;
  recorder.flush();
  EngineSink::Replayed put_by = execution_.sink.end_replay();
  const Manifest& manifest = resumed_->blocks->manifest();
  plan::Segment segment;
  for (const auto& [id, state] : recorder.named()) {
    const LiveTensor* const live = manifest.find(id);
    TDSL_CHECK(live != nullptr && live->known.desc.shape == state->desc.shape && live->known.type == state->type,
               "a checkpoint has every tensor that has a name: " + state->desc.name);
    restore(*live, put_by, segment);
  }
  recorder.hand_on(std::move(segment));
  plan::Segment stores;
  stores.ops = std::move(put_by.stores);
  recorder.hand_on(std::move(stores));
  bases_.at_boundary(recorder.numbers().tensor);
  began_ = saved_ = Clock::now();
}

}  // namespace tdsl::rt
