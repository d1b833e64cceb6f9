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
#include "runtime/app/session/pictures.h"
#include "runtime/app/session/repeats.h"
#include "runtime/app/session/series.h"
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

/// Components of a run.
struct RunSetup {
  World& world;
  Store& store;
  const ProgramInfo& info;
  const AppOptions& options;
  SessionInputs& inputs;
  plan::PlanInputs plan_inputs;
  EngineOptions engine_options;
  Unfinished unfinished = Unfinished::kNamed;
  const NumberCheck* numbers = nullptr;                                 ///< observes the engine's blocks
  Arrays* arrays = nullptr;                                             ///< a caller's arrays, used instead of files
  std::shared_ptr<SeriesList> series = std::make_shared<SeriesList>();  ///< not null
};

/// Executes recorded operations: plans and predicts them, binds kernels, and submits them to the engine.
class EngineSink : public record::PlanningSink {
 public:
  explicit EngineSink(const RunSetup& setup);

  void segment(plan::Segment segment) override;
  /// Stores the kernel of the next recorded operation, under that number.
  void keep(plan::Index record, Kernel kernel) { kernels_.emplace(record, std::move(kernel)); }

  /// The kernel of a recorded operation that has not been submitted.
  [[nodiscard]] const Kernel& kept(plan::Index record) const { return kernels_.at(record); }

  /// Starts a replay: operations recorded from now on were executed by an earlier run. Sources of tensors that keep a
  /// name, and output writes, are deferred.
  void begin_replay() { replayed_.emplace(); }
  [[nodiscard]] bool replays() const { return replayed_.has_value(); }
  struct Replayed {
    std::map<plan::TensorId, plan::Op> sources;
    std::vector<plan::Op> stores;
  };
  /// Ends the replay; returns the deferred operations.
  [[nodiscard]] Replayed end_replay() { return *std::exchange(replayed_, std::nullopt); }

  /// Reports the predicted seconds of submitted operations to `progress`.
  void follow(Progress& progress) { progress_ = &progress; }
  [[nodiscard]] Progress* progress() const { return progress_; }
  /// Reports single-task loops predicted to take longer than `seconds`, each once.
  using LongLoop = std::function<void(const plan::Op& op, double seconds)>;
  void tell_long_loops(double seconds, LongLoop tell) {
    long_seconds_ = seconds;
    long_loop_ = std::move(tell);
  }
  /// Compares operations recorded from now on with a survey's region.
  void expect(const plan::Region& region);
  /// Recorded operations that the survey did not find; requires `expect`.
  [[nodiscard]] plan::Index unsurveyed() const { return unsurveyed_; }

  /// Enables predictions for this rank; with `baseline` also those without --reproducible.
  void enable_predictions(bool baseline);
  [[nodiscard]] const Predictions& predictions() const { return predictions_; }
  /// Predicted cost on this rank without --reproducible.
  [[nodiscard]] const std::optional<plan::Cost>& baseline_cost() const { return baseline_cost_; }

  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] const Engine& engine() const { return engine_; }
  /// True if operations are only planned, and the program ends where it needs a computed value.
  [[nodiscard]] bool dry_run() const { return setup_.options.dry_run; }

  /// The kernel that writes output tiles to the caller's array; null in a dry run.
  [[nodiscard]] Kernel open_array(std::string_view name, const record::TensorState& value, int line);
  /// The kernel that writes output tiles to a file, whose format follows from its name. Collective; null in a dry run,
  /// after checking that the file can be created.
  [[nodiscard]] Kernel open_file(const std::string& path, const record::TensorState& value, record::Place place);
  /// A series without records, or, if it is `saved`, as it was at the checkpoint. `path`: null without a file.
  /// Collective.
  [[nodiscard]] std::shared_ptr<Series> open_series(std::string name, const std::string* path, SeriesLayout layout,
                                                    const checkpoint::SavedSeries* saved, int line);
  /// The kernel that writes tiles of a record, for the operation of that number; null in a dry run.
  [[nodiscard]] Kernel append_kernel(const std::shared_ptr<Series>& series, plan::Index record, plan::Index operation);
  /// The kernel that writes a whole record on rank 0; null in a dry run.
  [[nodiscard]] Kernel line_kernel(const std::shared_ptr<Series>& series, plan::Index record) const;
  /// On rank 0: prints the summaries of series without a file.
  void show_series() const;
  [[nodiscard]] const SeriesList& series() const { return *setup_.series; }
  [[nodiscard]] Pictures& pictures() { return pictures_; }
  [[nodiscard]] const Pictures& pictures() const { return pictures_; }
  /// Flushes files to disk and gives them their final names, all or none. Collective, at the end of the run.
  void commit_outputs();
  [[nodiscard]] const RepeatedSegments& repeats() const { return repeats_; }
  /// This rank's writes to dense files, by site.
  [[nodiscard]] std::map<int, WriteCount> writes() const;

  /// With --check: waits for all submitted operations and throws ProgramError if an invalid element was found.
  /// Collective.
  void check_numbers();
  /// Waits until all submitted operations have completed. Collective.
  void complete();
  /// Like complete(), and checks that no block is left. Collective.
  void finish();

 private:
  void planned(const plan::PlannedSegment& segment) override;
  template <class Create, class Open>
  [[nodiscard]] auto open_together(int line, const Create& create, const Open& open) -> decltype(create());
  void put_by(plan::Segment segment);
  void write_entries();
  void note_places(const plan::PlannedSegment& segment) const;
  void submit(const std::shared_ptr<const plan::PlannedOp>& op, const std::vector<plan::TensorId>& last_names);
  [[nodiscard]] Kernel load_kernel(const plan::PlannedOp& planned);
  [[nodiscard]] Kernel take_kernel(plan::Index record);
  [[nodiscard]] static Kernel bound_kernel(const std::shared_ptr<const plan::Op>& op, Kernel recorded);
  // engine_sink_repeats.cpp
  [[nodiscard]] bool may_repeat() const;
  [[nodiscard]] bool repeat(plan::Segment& segment);
  void run(const RepeatedSegment& kept, const plan::Segment& segment, const std::vector<plan::TensorId>& tensors,
           std::vector<Engine::Repeat>& todo);
  void keep_planned(const plan::PlannedSegment& segment);
  void trace_planning();
  void foresee(const plan::PlannedSegment& segment);
  void check_window() const;
  void check_memory() const;

  RunSetup setup_;
  Engine engine_;
  std::unordered_map<plan::Index, Kernel> kernels_;  ///< by Op::record, until submission
  struct Parts {
    plan::Combine combine = plan::Combine::kNone;
    std::vector<plan::PackedPiece> pieces;
    Epilogue epilogue;  ///< applied to the combined result
  };
  std::unordered_map<plan::TensorId, Parts> parts_;  ///< partial results and how they combine
  struct Output {
    std::shared_ptr<TensorWriter> writer;
    int site = 0;
  };
  std::vector<Output> files_;
  std::vector<std::shared_ptr<EntryFileOutput>> entry_files_;
  std::vector<std::shared_ptr<EntryOutput>> entry_outputs_;  ///< those and the caller's
  Pictures pictures_;
  std::optional<Replayed> replayed_;
  std::unordered_set<int> surveyed_;  ///< sites
  plan::Index unsurveyed_ = 0;
  Predictions predictions_;
  double traced_planning_ = 0;  ///< seconds
  std::optional<record::BaselineSink> baseline_;
  std::optional<plan::Cost> baseline_cost_;
  Progress* progress_ = nullptr;
  double long_seconds_ = 0;
  LongLoop long_loop_;                  ///< null: not requested
  std::unordered_set<int> long_sites_;  ///< already reported
  RepeatedSegments repeats_;
  RepeatedSegments::Place* keeps_ = nullptr;  ///< where to keep the segment that is being planned; null: not
  std::optional<record::SegmentForm> form_to_keep_;
};

}  // namespace tdsl::rt
