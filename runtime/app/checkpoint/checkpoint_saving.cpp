#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/app/checkpoint/checkpoints.h"
#include "runtime/app/session/session_impl.h"
#include "runtime/plan/op_builder.h"
#include "runtime/plan/value/plan_value.h"

// Saving checkpoints; see Note [Checkpoints].

namespace tdsl::rt {

using checkpoint::Folder;
using checkpoint::LiveTensor;
using checkpoint::Manifest;

namespace {

constexpr std::size_t kKept = 2;

}  // namespace

/// Rank 0 creates the folder for the files. Returns the error, empty if none.
std::string Checkpoints::begin_files(bool with_base) {
  std::string error;
  if (execution_.setup.world.rank() == 0) {
    try {
      folder_->begin(number_, facts_.attempt, with_base);
    } catch (const RunError& e) { error = e.what(); }
  }
  return execution_.sink.engine().share(error);
}

bool Checkpoints::save(const record::Path& path) {
  const auto rank = static_cast<std::size_t>(execution_.setup.world.rank());
  execution_.recorder.flush();  // every tensor is now placed, or deferred until its first use
  execution_.sink.check_numbers();
  ++number_;
  Manifest manifest = describe(path);
  list_tensors(manifest);
  const bool with_base =
      std::ranges::any_of(manifest.tensors, [this](const LiveTensor& t) { return t.base == number_; });
  std::string error = begin_files(with_base);
  if (error.empty()) {
    Files files{std::make_shared<SavedBlocks>(Folder::rank_file(folder_->unfinished(number_, facts_.attempt), rank)),
                nullptr};
    if (with_base)
      files.base =
          std::make_shared<SavedBlocks>(Folder::rank_file(folder_->unfinished_base(number_, facts_.attempt), rank));
    execution_.recorder.hand_on(saving(manifest, files));
    execution_.sink.complete();
    for (const auto& series : execution_.sink.series().all()) manifest.series.push_back(series->saved());
    error = complete(manifest, files);
  }
  if (error.empty()) {
    bases_.take(manifest);
    return true;
  }
  warn(error);
  if (rank == 0) folder_->give_up(number_, facts_.attempt);
  return false;
}

Manifest Checkpoints::describe(const record::Path& path) {
  Manifest manifest;
  manifest.number = number_;
  manifest.identity = facts_.identity;
  manifest.setting = facts_.setting;
  manifest.plan = plan_;
  manifest.machine = plan::machine_text(execution_.setup.plan_inputs.machine);
  manifest.memory = execution_.sink.planner().inputs().memory;
  manifest.seconds = earlier_seconds_ + seconds();
  manifest.path = path;
  if (Progress* const progress = execution_.sink.progress(); progress != nullptr && progress->expected() > 0) {
    manifest.predicted = progress->expected();
    manifest.done = progress->recorded();
  }
  return manifest;
}

/// Lists all named tensors with their storage locations and the files that have or will have their blocks.
void Checkpoints::list_tensors(Manifest& manifest) {
  const plan::Planner& planner = execution_.sink.planner();
  for (const auto& [id, state] : execution_.recorder.named()) {
    LiveTensor& live = manifest.tensors.emplace_back();
    live.known = {state->desc, state->type};
    live.recorded_again = state->source && manifest.path.records(id);
    live.site = planner.site_of(id);
    if (planner.planned(id)) {
      live.where = planner.tensor(id).distribution;
      live.housing = planner.tensor(id).housing;
    }
    if (const plan::Planner::Copy* const copy = planner.kept_copy(id)) {
      live.copy = planner.tensor(copy->id).distribution;
      live.readers = copy->readers;
    }
    if (live.recorded_again || !bases_.assign(live, number_)) continue;
    live.saved = live.where ? live.where->one_copy() : saved_tiles(state->desc, planner.inputs().ranks);
  }
}

/// The operation that saves a tensor at its storage location. A deferred tensor is generated tile by tile and stays
/// deferred.
plan::Op Checkpoints::saving(const LiveTensor& tensor, const std::shared_ptr<SavedBlocks>& blocks) {
  const plan::TensorDesc& desc = tensor.known.desc;
  EngineSink& sink = execution_.sink;
  plan::Op op;
  Kernel kernel;
  if (tensor.where) {
    plan::OpBuilder builder(plan::OpClass::kSave, desc.name, 0, 0);
    std::vector<plan::DimAccess> dims;
    for (std::size_t d = 0; d < desc.shape.size(); ++d) {
      builder.out("i" + std::to_string(d), desc.shape[d]);
      dims.push_back(plan::at(static_cast<int>(d)));
    }
    builder.read(desc.id, std::move(dims)).flops(0);
    op = std::move(builder.op());
    kernel = SavedBlocks::kernel(blocks, desc);
  } else {
    op = *sink.planner().waiting_source(desc.id);
    kernel = SavedBlocks::kernel(blocks, desc, sink.kept(op.record));
    op.op_class = plan::OpClass::kSave;
    op.outputs.clear();
    op.site = op.line = 0;
  }
  op.record = next_extra();
  sink.keep(op.record, std::move(kernel));
  return op;
}

plan::Segment Checkpoints::saving(const Manifest& manifest, const Files& files) {
  plan::Segment segment;
  for (const LiveTensor& tensor : manifest.tensors) {
    if (tensor.recorded_again || (tensor.base != 0 && tensor.base != number_)) continue;
    segment.settled.push_back({saving(tensor, tensor.base == 0 ? files.own : files.base), tensor.saved});
  }
  return segment;
}

namespace {

/// A rank's report on its completed files.
struct RankReport {
  std::array<checkpoint::FileSeal, 2> seals{};  ///< of the checkpoint and of the base
  std::string error{};

  [[nodiscard]] std::vector<std::byte> encode() const {
    std::vector<std::byte> bytes(sizeof seals + error.size());
    std::memcpy(bytes.data(), seals.data(), sizeof seals);
    std::memcpy(bytes.data() + sizeof seals, error.data(), error.size());
    return bytes;
  }
  [[nodiscard]] static RankReport decode(const std::vector<std::byte>& bytes) {
    RankReport report;
    std::memcpy(report.seals.data(), bytes.data(), sizeof report.seals);
    report.error.assign(reinterpret_cast<const char*>(bytes.data()) + sizeof report.seals,
                        bytes.size() - sizeof report.seals);
    return report;
  }
};

}  // namespace

/// Gives the checkpoint its final name once every rank's file is complete. Returns the error, empty if none.
std::string Checkpoints::complete(Manifest& manifest, const Files& files) {
  RankReport mine;
  try {
    mine.seals[0] = files.own->finish();
    if (files.base) mine.seals[1] = files.base->finish();
    for (const auto& series : execution_.sink.series().all()) {
      if (series->file() != nullptr) series->file()->sync();
    }
  } catch (const RunError& e) { mine.error = e.what(); }
  const int rank = execution_.setup.world.rank(), ranks = execution_.setup.world.size();
  Engine& engine = execution_.sink.engine();
  bool sent = rank == 0;
  const Engine::Received received = engine.exchange([&](int& target, std::vector<std::byte>& bytes) {
    if (std::exchange(sent, true)) return false;
    target = 0;
    bytes = mine.encode();
    return true;
  });
  std::vector<checkpoint::FileSeal> of_base;
  if (rank == 0) {
    for (int r = 0; r < ranks; ++r) {
      const RankReport report = r == 0 ? mine : RankReport::decode(received[static_cast<std::size_t>(r)].at(0));
      manifest.files.push_back(report.seals[0]);
      of_base.push_back(report.seals[1]);
      if (mine.error.empty()) mine.error = report.error;
    }
  }
  bases_.list(manifest, of_base);
  if (rank == 0 && mine.error.empty()) {
    try {
      folder_->commit(number_, facts_.attempt, checkpoint::print(manifest), files.base != nullptr);
      folder_->prune(kKept, facts_.attempt, resumed_ ? resumed_->blocks->checkpoint() : std::string());
    } catch (const RunError& e) { mine.error = e.what(); }
  }
  const std::string error = engine.share(mine.error);
  if (error.empty()) newest_ = folder_->checkpoint(number_);
  return error;
}

}  // namespace tdsl::rt
