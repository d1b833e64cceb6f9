#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/app/options/number_check.h"
#include "runtime/app/options/options.h"
#include "runtime/app/report/progress.h"
#include "runtime/app/report/statistics.h"
#include "runtime/app/run/program_info.h"
#include "runtime/app/session/entry_output.h"
#include "runtime/app/session/session_inputs.h"
#include "runtime/engine/engine.h"
#include "runtime/io/tensor/tensor_file.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/plan/region/region.h"
#include "runtime/record/planning_sink.h"
#include "runtime/record/recorder.h"
#include "runtime/record/tensor.h"

namespace tdsl::rt {

class Arrays;

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
  const NumberCheck* numbers = nullptr;  ///< watches the engine's blocks
  Arrays* arrays = nullptr;              ///< of a caller, in place of files
};

/// Where recorded operations run: planned, predicted, given their kernels, and submitted to the engine.
class EngineSink : public record::PlanningSink {
 public:
  explicit EngineSink(const RunSetup& setup);

  void segment(plan::Segment segment) override;
  /// The kernel of the operation that is recorded next, under that number.
  void keep(plan::Index record, Kernel kernel) { kernels_.emplace(record, std::move(kernel)); }

  /// Of an operation that has been recorded and not submitted.
  [[nodiscard]] const Kernel& kept(plan::Index record) const { return kernels_.at(record); }

  /// What is recorded from now on has been carried out by an earlier run: sources of tensors that keep a name, and
  /// writing to files, are put by.
  void begin_replay() { replayed_.emplace(); }
  struct Replayed {
    std::map<plan::TensorId, plan::Op> sources;
    std::vector<plan::Op> stores;
  };
  /// From now on everything is carried out again. Returns what was put by.
  [[nodiscard]] Replayed end_replay() { return *std::exchange(replayed_, std::nullopt); }

  /// From now on predicted seconds of what is submitted are told.
  void follow(Progress& progress) { progress_ = &progress; }
  [[nodiscard]] Progress* progress() const { return progress_; }
  /// From now on loops that are one task and are predicted to take longer than `seconds` are told, each of them once.
  using LongLoop = std::function<void(const plan::Op& op, double seconds)>;
  void tell_long_loops(double seconds, LongLoop tell) {
    long_seconds_ = seconds;
    long_loop_ = std::move(tell);
  }
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

  /// The kernel that writes tiles of the output to the caller's array; null in a dry run.
  [[nodiscard]] Kernel open_array(std::string_view name, const record::TensorState& value, int line);
  /// The kernel that writes tiles of the output to a file, of the kind that its name says. Every rank calls it; null in
  /// a dry run, once the file could be made.
  [[nodiscard]] Kernel open_file(const std::string& path, const record::TensorState& value, record::Place place);
  /// Flushes files to disk and gives them their names, all or none. Every rank calls it when the run is over.
  void commit_outputs();
  /// What this rank has written to dense files, by site.
  [[nodiscard]] std::map<int, WriteCount> writes() const;

  /// With --check, waits for everything submitted and throws ProgramError if an element is what it looks for. Every
  /// rank calls it.
  void check_numbers();
  /// Waits until everything submitted is done. Every rank calls it.
  void complete();
  /// The same on every rank, and proves that no block is left.
  void finish();

 private:
  void planned(const plan::PlannedSegment& segment) override;
  template <class Create, class Open>
  [[nodiscard]] auto open_together(int line, const Create& create, const Open& open) -> decltype(create());
  void put_by(plan::Segment segment);
  void write_entries();
  void note_places(const plan::PlannedSegment& segment) const;
  void submit(const std::shared_ptr<const plan::PlannedOp>& op, const std::vector<plan::TensorId>& last_names);
  void trace_planning();
  void foresee(const plan::PlannedSegment& segment);
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
  struct Output {
    std::shared_ptr<TensorWriter> writer;
    int site = 0;
  };
  std::vector<Output> files_;
  std::vector<std::shared_ptr<EntryOutput>> entry_files_;
  std::optional<Replayed> replayed_;
  std::unordered_set<int> surveyed_;  ///< sites
  plan::Index unsurveyed_ = 0;
  Predictions predictions_;
  double traced_planning_ = 0;  ///< seconds
  std::optional<record::BaselineSink> baseline_;
  std::optional<plan::Cost> baseline_cost_;
  Progress* progress_ = nullptr;
  double long_seconds_ = 0;
  LongLoop long_loop_;                  ///< null: nobody wants to know
  std::unordered_set<int> long_sites_;  ///< that have been told
};

}  // namespace tdsl::rt
