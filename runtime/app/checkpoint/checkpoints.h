#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/checkpoint/checkpoint_bases.h"
#include "runtime/app/checkpoint/resume_point.h"
#include "runtime/app/run/run_ahead.h"
#include "runtime/app/session/engine_sink.h"
#include "runtime/app/session/stored_blocks.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/record/path.h"

// Note [Checkpoints]
// At a boundary (record/path.h) every tensor that has a name is saved, unless a replay records it again: one kSave
// operation each, done by owners, without messages and without copies, so that a save takes no memory; what is on disk
// is read tile by tile, with room for one (plan/region/homes.h). What has not changed for an iteration goes to a base,
// once (checkpoint_bases.h). When all that is recorded has been carried out the files are completed, and rank 0 writes
// the manifest and gives the checkpoint its name (checkpoint/folder.h). Whatever fails until then is a warning, and the
// run goes on.
//
// Resuming, the replay ends at the same boundary with the same names. Each is given its tensor by a kRestore operation,
// or by the source that the replay has put by; outputs that had been written are written again. With the saved setting
// (ranks, threads, options) every tensor lies where it lay, copies included, and the plan is the saved one, so the bits
// are those of an undisturbed run. Otherwise tensors wait, as sources do, for what wants them first. They are at home
// where the current plan has what is made at their sites.

namespace tdsl::rt {

struct Execution;

/// Unwinds the program when it has been saved and is to end.
struct StoppedAtCheckpoint {};

/// What a run needs to know beside its options. `identity` is complete on rank 0.
struct CheckpointFacts {
  checkpoint::Facts identity;
  checkpoint::Facts setting;
  std::int64_t last = 0;      ///< number of the last checkpoint in the directory
  std::int64_t stop_at = -1;  ///< tests: the run stops at that boundary, counted from 1
  std::string attempt;        ///< names what this run writes until it has its final name; the same on all ranks
};

class Checkpoints : public record::PathWatcher {
 public:
  Checkpoints(Execution& execution, CheckpointFacts facts, std::optional<ResumePoint> resumed);

  /// Before the program begins; with the plan that is imposed, or an empty text.
  void begin(const std::string& plan);
  void at_boundary(const record::Path& path) override;
  void replayed() override;

  /// The plan that this run goes on with; null: it makes one of its own.
  [[nodiscard]] const std::string* earlier_plan() const;
  [[nodiscard]] bool replays() const;
  /// Of the checkpoint that the run goes on from; null: it starts from the beginning.
  [[nodiscard]] const checkpoint::Manifest* resumed() const {
    return resumed_ ? &resumed_->blocks->manifest() : nullptr;
  }
  /// The last one that was written.
  [[nodiscard]] const std::string& newest() const { return newest_; }

 private:
  [[nodiscard]] bool is_due() const;
  /// Collective: all ranks are at this boundary. Whether it was written; if not, rank 0 has warned.
  bool save(const record::Path& path);
  /// This rank's files of a checkpoint.
  struct Files {
    std::shared_ptr<SavedBlocks> own;
    std::shared_ptr<SavedBlocks> base;  ///< null: nothing goes to a base
  };
  /// Collective; the error of any rank, empty: none.
  [[nodiscard]] std::string begin_files(bool with_base);
  /// The manifest without the files' seals.
  [[nodiscard]] checkpoint::Manifest describe(const record::Path& path);
  void list_tensors(checkpoint::Manifest& manifest);
  /// An operation that writes the tensor's blocks; all of a manifest.
  [[nodiscard]] plan::Op saving(const checkpoint::LiveTensor& tensor, const std::shared_ptr<SavedBlocks>& blocks);
  [[nodiscard]] plan::Segment saving(const checkpoint::Manifest& manifest, const Files& files);
  /// Collective, after all writing operations: seals, manifest, names. The error of any rank, empty: none.
  [[nodiscard]] std::string complete(checkpoint::Manifest& manifest, const Files& files);
  /// Operations that the program does not record have numbers of their own.
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
  std::optional<checkpoint::Folder> folder_;  ///< where checkpoints go; none: this run only goes on from one
  std::string plan_;
  std::string newest_;
  std::int64_t number_ = 0;  ///< of the last one
  CheckpointBases bases_;
  RunAhead run_ahead_;
  std::int64_t boundaries_ = 0;  ///< passed in this run
  Index extra_ = 0;              ///< operations that the program did not record
  double last_seconds_ = 0;      ///< that the last one took
  double earlier_seconds_ = 0;   ///< of runs before this one
  Clock::time_point began_ = Clock::now();
  Clock::time_point saved_ = Clock::now();
};

}  // namespace tdsl::rt
