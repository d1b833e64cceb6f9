#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/checkpoint/resume_point.h"
#include "runtime/app/run/run_ahead.h"
#include "runtime/app/session/engine_sink.h"
#include "runtime/app/session/stored_blocks.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/record/path.h"

// Note [Checkpoints] At a boundary (record/path.h) every named tensor is saved, unless a replay records it again: one
// kSave operation each, run by the owners, without messages or copies, so saving needs no extra memory. Tensors on disk
// are read tile by tile, with a buffer for one tile (plan/region/homes.h). Tensors unchanged for an iteration go to a
// base, once (CheckpointBases). When all recorded operations have completed, the files are finished, rank 0 writes
// the manifest, and the checkpoint gets its final name (checkpoint/folder.h). Any failure before that is a warning, and
// the run continues.
//
// On resume, the replay ends at the same boundary with the same names. Each name gets its tensor from a kRestore
// operation, or from the source that the replay deferred; outputs already written are written again. With the saved
// settings (ranks, threads, options) every tensor has its saved layout, copies included, and the plan is the saved one,
// so results are bit-identical to those of an uninterrupted run. Otherwise tensors are deferred, like sources, until
// their first use, and their storage locations are those the current plan gives to results of their sites.

namespace tdsl::rt {

// Assigns tensors to bases. Loop invariants do not change between checkpoints and may be most of the data. A tensor is
// immutable (its successor has another id), so one that is named at two consecutive boundaries has survived an
// iteration and will probably survive the next one. It goes to the base of the next checkpoint, and later checkpoints
// refer to it there.

/// Equal on all ranks, except `Base::files`, which only rank 0 has.
class CheckpointBases {
 public:
  /// Called at each boundary, also at the one a saved run was at. Tensors recorded from now on have ids from `next` on.
  void at_boundary(plan::TensorId next) {
    before_ = last_;
    last_ = next;
  }
  /// Continues in the directory of the checkpoint that the run resumes from.
  void goes_on(const checkpoint::Manifest& manifest) { take(manifest); }
  /// Assigns the tensor to an earlier base, or to the base of this checkpoint. Returns whether its blocks must be
  /// written.
  bool assign(checkpoint::LiveTensor& tensor, std::int64_t checkpoint) const {
    const auto found = tensors_.find(tensor.known.desc.id);
    if (found == tensors_.end()) {
      tensor.base = tensor.known.desc.id < before_ ? checkpoint : 0;
      return true;
    }
    tensor.base = found->second.base;
    tensor.saved = found->second.saved;
    return false;
  }
  /// Adds the bases that the manifest's tensors refer to. `files`: those of this checkpoint's own base.
  void list(checkpoint::Manifest& manifest, const std::vector<checkpoint::FileSeal>& files) const {
    std::map<std::int64_t, std::vector<checkpoint::FileSeal>> referred;
    for (const checkpoint::LiveTensor& tensor : manifest.tensors) {
      if (tensor.base != 0) referred[tensor.base] = tensor.base == manifest.number ? files : files_.at(tensor.base);
    }
    manifest.bases.clear();
    for (auto& [number, list] : referred) manifest.bases.push_back({number, std::move(list)});
  }
  /// Called once the checkpoint has its final name.
  void take(const checkpoint::Manifest& manifest) {
    tensors_.clear();
    files_.clear();
    for (const checkpoint::Base& base : manifest.bases) files_.emplace(base.number, base.files);
    for (const checkpoint::LiveTensor& tensor : manifest.tensors) {
      if (tensor.base != 0) tensors_.emplace(tensor.known.desc.id, Place{tensor.base, tensor.saved});
    }
  }

 private:
  struct Place {
    std::int64_t base = 0;
    plan::Distribution saved;
  };
  plan::TensorId before_ = 0;  ///< tensors with smaller ids existed at the boundary before the last
  plan::TensorId last_ = 0;    ///< tensors with smaller ids existed at the last boundary
  std::map<plan::TensorId, Place> tensors_;
  std::map<std::int64_t, std::vector<checkpoint::FileSeal>> files_;
};

struct Execution;

/// Thrown to unwind the program after a checkpoint that ends the run.
struct StoppedAtCheckpoint {};

/// Inputs of a run in addition to its options. `identity` is complete on rank 0 only.
struct CheckpointFacts {
  checkpoint::Facts identity;
  checkpoint::Facts setting;
  std::int64_t last = 0;      ///< number of the last checkpoint in the directory
  std::int64_t stop_at = -1;  ///< for tests: the run stops at that boundary, counted from 1
  std::string attempt;        ///< suffix of this run's temporary files; the same on all ranks
};

class Checkpoints : public record::PathWatcher {
 public:
  Checkpoints(Execution& execution, CheckpointFacts facts, std::optional<ResumePoint> resumed);

  /// Called before the program starts, with the imposed plan or an empty text.
  void begin(const std::string& plan);
  void at_boundary(const record::Path& path) override;
  void replayed() override;

  /// The saved plan to continue with; null if the run makes its own.
  [[nodiscard]] const std::string* earlier_plan() const;
  /// Manifest of the checkpoint that the run resumes from; null for a fresh run.
  [[nodiscard]] const checkpoint::Manifest* resumed() const {
    return resumed_ ? &resumed_->blocks->manifest() : nullptr;
  }
  /// Path of the last checkpoint written.
  [[nodiscard]] const std::string& newest() const { return newest_; }

 private:
  [[nodiscard]] bool is_due() const;
  /// Collective: all ranks are at this boundary. Returns whether a checkpoint was written; if not, rank 0 has warned.
  bool save(const record::Path& path);
  /// This rank's files of a checkpoint.
  struct Files {
    std::shared_ptr<SavedBlocks> own;
    std::shared_ptr<SavedBlocks> base;  ///< null if no tensor goes to a base
  };
  /// Collective. Returns the error of any rank, empty if none.
  [[nodiscard]] std::string begin_files(bool with_base);
  /// The manifest without file seals.
  [[nodiscard]] checkpoint::Manifest describe(const record::Path& path);
  void list_tensors(checkpoint::Manifest& manifest);
  /// An operation that writes the tensor's blocks; `tensor` is a manifest entry.
  [[nodiscard]] plan::Op saving(const checkpoint::LiveTensor& tensor, const std::shared_ptr<SavedBlocks>& blocks);
  [[nodiscard]] plan::Segment saving(const checkpoint::Manifest& manifest, const Files& files);
  /// Collective, after all save operations: seals, manifest, final names. Returns the error of any rank, empty if none.
  [[nodiscard]] std::string complete(checkpoint::Manifest& manifest, const Files& files);
  /// Numbers for operations that the program does not record.
  [[nodiscard]] Index next_extra() { return (Index{1} << 47) + extra_++; }
  void tell_long_loops();
  void warn(const std::string& reason) const;
  [[nodiscard]] double seconds() const;  ///< of this run
  [[nodiscard]] plan::Housing home_of(const checkpoint::LiveTensor& tensor, const plan::Op& restoring) const;
  [[nodiscard]] plan::Op restoring(const checkpoint::LiveTensor& tensor);
  void restore(const checkpoint::LiveTensor& tensor, EngineSink::Replayed& put_by, plan::Segment& segment);

  using Clock = std::chrono::steady_clock;
  Execution& execution_;
  CheckpointFacts facts_;
  std::optional<ResumePoint> resumed_;
  std::optional<checkpoint::Folder> folder_;  ///< where checkpoints are written; empty if the run only resumes from one
  std::string plan_;
  std::string newest_;
  std::int64_t number_ = 0;  ///< of the last checkpoint
  CheckpointBases bases_;
  RunAhead run_ahead_;
  std::int64_t boundaries_ = 0;  ///< passed in this run
  Index extra_ = 0;              ///< number of operations not recorded by the program
  double last_seconds_ = 0;      ///< duration of the last checkpoint
  double earlier_seconds_ = 0;   ///< run time of earlier attempts
  Clock::time_point began_ = Clock::now();
  Clock::time_point saved_ = Clock::now();
};

}  // namespace tdsl::rt
