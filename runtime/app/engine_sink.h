#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/app/entry_output.h"
#include "runtime/app/options.h"
#include "runtime/app/program_info.h"
#include "runtime/app/session_inputs.h"
#include "runtime/app/statistics.h"
#include "runtime/engine/engine.h"
#include "runtime/io/npy.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/plan/region/region.h"
#include "runtime/record/planning_sink.h"
#include "runtime/record/tensor.h"

namespace tdsl::rt {

/// What a run is made of.
struct RunSetup {
  World& world;
  Store& store;
  const ProgramInfo& info;
  const AppOptions& options;
  SessionInputs& inputs;
  plan::PlanInputs plan_inputs;
  EngineOptions engine_options;
  Unfinished unfinished = Unfinished::kNamed;
};

/// Where recorded operations run: planned, predicted, given their kernels, and submitted to the engine.
class EngineSink : public record::PlanningSink {
 public:
  explicit EngineSink(const RunSetup& setup);

  void segment(plan::Segment segment) override;
  /// The kernel of the operation that is recorded next, under that number.
  void keep(plan::Index record, Kernel kernel) { kernels_.emplace(record, std::move(kernel)); }

  /// What is recorded from now on is compared with what a survey found.
  void expect(const plan::Region& region);
  /// Recorded operations that no survey has seen, of a rank that expects some.
  [[nodiscard]] plan::Index unsurveyed() const { return unsurveyed_; }

  /// Predictions of this rank are made; with `baseline` also those without --reproducible.
  void enable_predictions(bool baseline);
  [[nodiscard]] const Predictions& predictions() const { return predictions_; }
  /// Predicted of this rank without --reproducible.
  [[nodiscard]] const std::optional<plan::Cost>& baseline_cost() const { return baseline_cost_; }

  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] const Engine& engine() const { return engine_; }
  /// Whether operations are planned only, and the program ends where it needs a value.
  [[nodiscard]] bool dry_run() const { return setup_.options.dry_run; }

  /// The kernel that writes tiles of the output to a file, of the kind that its name says. Every rank calls it; null in a dry run, once the
  /// file could be made.
  [[nodiscard]] Kernel open_file(const std::string& path, const record::TensorState& value, int line);
  /// Flushes files to disk and gives them their names, all or none. Every rank calls it when the run is over.
  void commit_outputs();

  /// Waits until everything submitted is done. Every rank calls it.
  void complete();
  /// The same on every rank, and proves that no block is left.
  void finish();

 private:
  void planned(const plan::PlannedSegment& segment) override;
  template <class Create, class Open>
  [[nodiscard]] auto open_together(int line, const Create& create, const Open& open) -> decltype(create());
  void write_entries();
  void submit(const std::shared_ptr<const plan::PlannedOp>& op, const std::vector<plan::TensorId>& last_names);
  void check_window() const;
  void check_memory() const;

  RunSetup setup_;
  Engine engine_;
  std::unordered_map<plan::Index, Kernel> kernels_;  ///< by Op::record, until submitted
  struct Parts {
    plan::Combine combine = plan::Combine::kNone;
    std::vector<plan::PackedPiece> pieces;
    Epilogue epilogue;  ///< where they have met
  };
  std::unordered_map<plan::TensorId, Parts> parts_;  ///< partial results and how they combine
  std::vector<std::shared_ptr<NpyWriter>> files_;
  std::vector<std::shared_ptr<EntryOutput>> entry_files_;
  std::unordered_set<int> surveyed_;  ///< sites
  plan::Index unsurveyed_ = 0;
  Predictions predictions_;
  std::optional<record::BaselineSink> baseline_;
  std::optional<plan::Cost> baseline_cost_;
};

}  // namespace tdsl::rt
