#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/exact.h"
#include "runtime/record/control.h"
#include "runtime/record/recorder.h"

namespace tdsl::record {

/// A program's session with its recorder: the checks of sizes and the recording that a run and a plan without a run
/// share. Implementations: rt::Session::Impl, which adds kernels and data, and codegen::PlanSession, which computes
/// nothing.
class Session {
 public:
  Session(Recorder& its_recorder, Control& its_control) : recorder(its_recorder), control(its_control) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  /// Throws the program's error at that line.
  [[noreturn]] virtual void stop(int line, const std::string& message) const = 0;

  /// Stops if a tensor of this size is not allowed.
  void require_size(std::string_view name, ElementType type, std::span<const Index> shape, int line) const;
  /// The same for a tensor in compressed blocks.
  void require_stored_size(std::string_view name, ElementType type, std::span<const Index> shape, int line) const;
  /// Stops if a dense tensor exceeds the machines' memory, as far as it is known.
  virtual void require_room(std::string_view name, ElementType type, std::span<const Index> shape, int line) const;
  /// Stops unless sizes agree, or `left <= right`; `{left}` and `{right}` in the message are replaced by them.
  void check_equal(int line, rt::Exact left, rt::Exact right, std::string_view message) const;
  void check_at_most(int line, rt::Exact left, rt::Exact right, std::string_view message) const;

  /// Records an operation whose labels and result have legal sizes.
  [[nodiscard]] TensorHandle record(plan::Op op, ElementType type);
  /// Records a loop that runs as one task.
  [[nodiscard]] std::vector<TensorHandle> loop(plan::Op op, std::vector<LoopOutput> outputs);

  Recorder& recorder;
  Control& control;
};

}  // namespace tdsl::record
