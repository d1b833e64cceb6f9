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
#include "runtime/record/control.h"

// The session's insides, for session*.cpp and program_*.cpp only.

namespace tdsl::rt {

/// Unwinds the program when `--dry-run` comes to a place that needs computed values.
struct DryRunOver {};

/// A program that records: what it asks about, where it records, and what steers it.
struct Session::Impl {
  const RunSetup& setup;
  record::Recorder& recorder;
  record::Control& control;
  EngineSink* sink;  ///< null in a survey: nothing is run

  /// Values may be guesses, which say nothing of the program's mistakes.
  [[nodiscard]] bool surveys() const { return sink == nullptr; }
  /// Keeps the kernel of what is recorded next.
  void keep(Kernel kernel) const {
    if (sink != nullptr) sink->keep(recorder.next_record(), std::move(kernel));
  }
  [[nodiscard]] SourceLine at(int line) const { return setup.info.at(line); }
  /// Throws the program's error of that line; every rank must fail here.
  [[noreturn]] void stop(int line, const std::string& message) const { throw ProgramError(at(line), message); }

  /// Stops unless a tensor may be so large.
  void require_size(std::string_view name, ElementType type, std::span<const Index> shape, int line) const;
  /// The same of a tensor whose blocks hold stored elements.
  void require_stored_size(std::string_view name, ElementType type, std::span<const Index> shape, int line) const;
  /// Stops where a tensor that is stored dense, of a sparse one perhaps a copy, has more bytes than the machines'
  /// memory, unless --memory says what there is.
  void require_room(std::string_view name, ElementType type, std::span<const Index> shape, int line) const;

  Checkpoints* checkpoints = nullptr;   ///< null: the run cannot be interrupted and resumed
  std::vector<TensorHandle> written{};  ///< outputs that have been written: whoever resumes the run writes them again

  std::set<std::pair<int, std::string>> gathered{};  ///< lines and routines that have been reported
  std::set<int> silent{};                            ///< lines of which nothing is reported
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

  /// Carries out all that was recorded, prints above all; the program may go on. Every rank calls it.
  void complete() {
    impl.written.clear();
    recorder.flush();
    sink.complete();
  }
  /// The same, and proves that no block is left.
  void finish() {
    impl.written.clear();
    recorder.flush();
    sink.check_numbers();
    sink.finish();
  }
};

/// Text of rank 0 on standard output, at once. Throws RunError.
void write_text(const std::string& text);

}  // namespace tdsl::rt
