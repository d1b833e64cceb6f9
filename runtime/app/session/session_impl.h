#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/app/checkpoint/checkpoints.h"
#include "runtime/app/session/engine_sink.h"
#include "runtime/app/session/session.h"
#include "runtime/record/session.h"

// Implementation of the session, for session*.cpp and program_*.cpp only.

namespace tdsl::rt {

/// Thrown to unwind the program when `--dry-run` reaches a statement that needs computed values.
struct DryRunOver {};

/// State of a program that runs, or is surveyed before it runs.
struct Session::Impl final : record::Session {
  Impl(const RunSetup& its_setup, record::Recorder& its_recorder, record::Control& its_control, EngineSink* its_sink)
      : record::Session(its_recorder, its_control), setup(its_setup), sink(its_sink) {}

  const RunSetup& setup;
  EngineSink* sink;  ///< null in a survey: nothing is executed

  /// True in a survey: values may be guesses, so checks on them must not fail.
  [[nodiscard]] bool surveys() const { return sink == nullptr; }
  /// Stores the kernel of the next recorded operation.
  void keep(Kernel kernel) const {
    if (sink != nullptr) sink->keep(recorder.next_record(), std::move(kernel));
  }
  [[nodiscard]] SourceLine at(int line) const { return setup.info.at(line); }
  /// All ranks must call it.
  [[noreturn]] void stop(int line, const std::string& message) const override { throw ProgramError(at(line), message); }
  /// Also checks dense copies of sparse tensors; checks nothing if --memory sets the limit.
  void require_room(std::string_view name, ElementType type, std::span<const Index> shape, int line) const override;

  /// Records the pictures of an output that --picture asks for.
  void draw(std::string_view name, const TensorHandle& value, record::Place place);

  Checkpoints* checkpoints = nullptr;   ///< null: the run has no checkpoints
  std::vector<TensorHandle> written{};  ///< outputs already written; a resumed run writes them again

  std::set<std::pair<int, std::string>> gathered{};  ///< lines and routines already reported
  std::set<int> silent{};                            ///< lines without reports
};

/// A run and its session.
struct Execution {
  explicit Execution(RunSetup s)
      : setup(std::move(s)), sink(setup), recorder(sink), control(recorder), impl{setup, recorder, control, &sink} {}

  RunSetup setup;
  EngineSink sink;
  record::Recorder recorder;
  record::PathControl control;
  Session::Impl impl;
  std::unique_ptr<Checkpoints> checkpoints{};

  void use_checkpoints(CheckpointFacts facts, std::optional<ResumePoint> resumed) {
    checkpoints = std::make_unique<Checkpoints>(*this, std::move(facts), std::move(resumed));
    impl.checkpoints = checkpoints.get();
  }

  /// Completes all recorded operations, including prints; the program may continue. Collective.
  void complete() {
    impl.written.clear();
    recorder.flush();
    sink.complete();
  }
  /// Like complete(), and checks that no block is left.
  void finish() {
    impl.written.clear();
    recorder.flush();
    sink.check_numbers();
    sink.finish();
    sink.show_series();
  }
};

/// Writes text on rank 0 to standard output immediately. Throws RunError.
void write_text(const std::string& text);

}  // namespace tdsl::rt
