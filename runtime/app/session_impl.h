#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/app/options.h"
#include "runtime/app/otherwise.h"
#include "runtime/app/session.h"
#include "runtime/app/session_inputs.h"
#include "runtime/app/statistics.h"
#include "runtime/engine/engine.h"
#include "runtime/io/npy.h"
#include "runtime/plan/planner.h"

// The session's insides, for session*.cpp and run_program.cpp only.

namespace tdsl::rt {

/// Unwinds the program when `--dry-run` comes to a place that needs computed values.
struct DryRunOver {};

struct Session::Impl {
  struct Setup {
    World& world;
    Store& store;
    const ProgramInfo& info;
    const AppOptions& options;
    SessionInputs& inputs;
    plan::PlanInputs plan_inputs;
    EngineOptions engine_options;
  };
  explicit Impl(Setup s) : setup(std::move(s)), planner(setup.plan_inputs), engine(setup.world, setup.store, planner.lookup(), setup.engine_options) {}

  Setup setup;
  plan::Planner planner;
  Engine engine;

  // session.cpp: recording.
  [[nodiscard]] TensorHandle enter(Session& session, plan::Op op, ElementType type, Kernel kernel);
  void enter_loop(Session& session, plan::Op op, std::initializer_list<LoopResult> results, Kernel kernel);
  void enter_effect(plan::Op op, Kernel kernel);
  [[nodiscard]] SourceLine at(int line) const {
    const std::vector<const char*>& files = setup.info.files();
    return files.empty() ? SourceLine{setup.info.declaration().source_file, line_in(line)} : place_in(files, line);
  }
  /// Throws the program's error of that line; every rank must fail here.
  [[noreturn]] void stop(int line, const std::string& message);
  /// Stops unless a tensor may be so large.
  void require_size(std::string_view name, ElementType type, std::span<const Index> shape, int line);
  std::vector<plan::Op> pending;
  std::unordered_map<Index, Kernel> kernels;  ///< by Op::record, until submitted
  std::unordered_map<plan::TensorId, Index> record_of;  ///< recorded tensors the program can still name
  Index next_record = 0;

  // session_flush.cpp: from records to the engine.
  void flush();
  void submit(const std::shared_ptr<const plan::PlannedOp>& planned, const std::vector<plan::TensorId>& last_names);
  [[nodiscard]] std::vector<std::vector<plan::TensorId>> last_names(const std::vector<std::shared_ptr<const plan::PlannedOp>>& planned);
  void forget(plan::TensorId id);
  void check_window() const;
  void check_memory() const;
  /// Flushes, waits until every rank is done with everything, and proves that no block is left.
  void finish();
  /// Carries out all that was recorded, prints above all; the program may go on. Every rank calls it.
  void complete();
  std::vector<plan::TensorId> dropped;      ///< names that are gone, to be passed on after the next flush
  std::unordered_map<plan::TensorId, plan::Combine> parts;  ///< partial results and how they combine

  // session_outputs.cpp: files and text.
  void store(std::string_view name, const detail::TensorState& value, int site, int line);
  void summarise(std::string_view name, const detail::TensorState& value, int site, int line);
  /// Flushes files to disk and gives them their names, all or none. Every rank calls it after finish().
  void commit_outputs();
  std::vector<std::shared_ptr<NpyWriter>> files;

  std::set<std::pair<int, std::string>> gathered;  ///< lines and routines that have been reported

  Predictions predictions;
  std::optional<OtherwisePlan> otherwise;  ///< for the statistics of --reproducible
  double planning_seconds = 0;
};

/// Reads of the elements a summary of the tensor shows, one access per corner, and how to put them together again.
class SummaryReads {
 public:
  SummaryReads() = default;
  explicit SummaryReads(std::vector<Index> shape);
  /// Adds the accesses to the operation.
  void add_to(plan::OpBuilder& op, plan::TensorId tensor);
  /// The product of summary_indices, C order, from the operation's inputs.
  template <Element T>
  [[nodiscard]] std::unique_ptr<T[]> gather(const TaskArgs& args) const;
  [[nodiscard]] Index count() const;

 private:
  std::vector<Index> shape_;
  std::vector<std::vector<Interval>> runs_;  ///< per dimension: one interval, or the first and the last elements
  int first_input_ = 0;
};

/// Text of rank 0 on standard output, at once.
void write_text(const std::string& text);

}  // namespace tdsl::rt
