#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/exact.h"
#include "runtime/record/control.h"
#include "runtime/record/recorder.h"

namespace tdsl::record {

/// The part of a program's session that a run and a plan without a run share: size checks and recording.
/// Implementations: rt::Session::Impl, which adds kernels and data, and codegen::PlanSession, which computes nothing.
class Session {
 public:
  Session(Recorder& its_recorder, Control& its_control) : recorder(its_recorder), control(its_control) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  /// Throws a program error with this source line.
  [[noreturn]] virtual void stop(int line, const std::string& message) const = 0;

  /// Stops if an extent is negative or the tensor exceeds rt::kMostTensorBytes.
  void require_size(std::string_view name, ElementType type, std::span<const Index> shape, int line) const;
  /// The same for a tensor in compressed blocks.
  void require_stored_size(std::string_view name, ElementType type, std::span<const Index> shape, int line) const;
  /// Stops if a dense tensor exceeds the machines' memory, where that is known.
  virtual void require_room(std::string_view name, ElementType type, std::span<const Index> shape, int line) const;
  /// Stops unless sizes agree, or `left <= right`; `{left}` and `{right}` in the message are replaced by them.
  void check_equal(int line, rt::Exact left, rt::Exact right, std::string_view message) const;
  void check_at_most(int line, rt::Exact left, rt::Exact right, std::string_view message) const;

  /// Checks the sizes of the labels and the result, and records the operation.
  [[nodiscard]] TensorHandle record(plan::Op op, ElementType type);
  /// Checks the sizes of the results, and records a loop that runs as one task.
  [[nodiscard]] std::vector<TensorHandle> loop(plan::Op op, std::vector<LoopOutput> outputs);

  Recorder& recorder;
  Control& control;
};

}  // namespace tdsl::record
