#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/record/control.h"
#include "runtime/record/recorder.h"

// Note [Paths] A *boundary* is the top of an iteration of a program loop, before its condition, at any depth. A path
// describes how the program reached its current boundary: a frame for the program and one for each enclosing loop, with
// the loop's carried variables at the top of the current iteration and the answers received since. Finished iterations
// need no record: their only effect is on carried variables.
//
//     x = load                    frame 0: events  read 1.5, loop {y = tensor 40}       the first loop has finished
//     if x[0] > 1 { … }
//     for … { y = … }
//     for i { s = …               frame 1: i = 7, s = 0.25, x = tensor 95; events  read 3.0
//       while sum(x) < s {        frame 2: iteration 2, x = tensor 99; no events       <- here
//
// *Replay*: the program runs from its beginning, and the control steers it along the path. Operations recorded
// meanwhile are not executed (app/engine_sink.h); the path answers reads and decisions that depended on the number of
// ranks or a plan; a finished loop yields its recorded results, and an unfinished one resumes at its current iteration.
// Tensors keep their numbers, because the path stores the next number at the top and the end of every loop; so tensors
// with a name at the boundary, including those shared by several variables, are identified by number.

namespace tdsl::record {

/// Descriptor of a tensor whose operation is not recorded again.
struct KnownTensor {
  plan::TensorDesc desc;
  ElementType type = ElementType::kF64;
};

/// The value of a carried variable.
struct CarriedValue {
  std::uint64_t bits = 0;                       ///< of a scalar
  std::shared_ptr<const KnownTensor> tensor{};  ///< null: a scalar, or a variable without a tensor
};

/// A recorded answer.
struct PathEvent {
  bool is_loop = false;
  std::uint64_t bits = 0;               ///< of a read or a decision
  std::vector<CarriedValue> carried{};  ///< results of a finished loop
  Recorder::Numbers begin{};            ///< at its start
  Recorder::Numbers end{};              ///< at its end
};

/// An iteration in progress.
struct PathFrame {
  Index index = 0;  ///< the variable of a `for`, the iteration number of a `while`
  std::vector<CarriedValue> carried{};
  Recorder::Numbers begin{};        ///< at the start of the loop
  Recorder::Numbers top{};          ///< at the top of the iteration
  std::vector<PathEvent> events{};  ///< since the top of the iteration
};

struct Path {
  std::vector<PathFrame> frames{PathFrame{}};

  /// True if a replay records the operation that made the tensor.
  [[nodiscard]] bool records(plan::TensorId tensor) const;
};

/// Is notified of the program's position.
class PathWatcher {
 public:
  virtual ~PathWatcher() = default;
  virtual void at_boundary(const Path& path) = 0;
  /// A replay has reached the end of its path: operations recorded from now on are executed.
  virtual void replayed() = 0;
};

/// Runs the program as written; optionally tracks its path, or replays one.
class PathControl : public RunControl {
 public:
  explicit PathControl(Recorder& recorder) : RunControl(recorder), recorder_(recorder) {}

  /// Tracks the path from the beginning of the program. The recorder then tracks names too.
  void follow(PathWatcher& watcher);
  /// Call before the program begins: replays the path.
  void replay(Path path);
  [[nodiscard]] bool replays() const { return replays_; }

  void for_loop(Loop loop, Index begin, Index end, Index step, const Body& body) override;
  void while_loop(Loop loop, const Condition& condition, const Body& body) override;
  void choose(int site, std::span<const Branch> forms) override;
  bool read(ElementType type, std::span<std::byte> value) override;
  void answered(std::span<const std::byte> value) override;
  [[nodiscard]] Index decide(Index answer) override;

 private:
  /// Runs an iteration and sets the next one's index, or returns false at the end.
  using Turn = std::function<bool(Index& index)>;
  void run(const Loop& loop, Index first, const Turn& turn);
  void skip(const Loop& loop);
  void enter(const Loop& loop);
  [[nodiscard]] std::vector<CarriedValue> values(const Loop& loop, const std::vector<CarriedValue>& last) const;
  void restore(const Loop& loop, const std::vector<CarriedValue>& values);
  [[nodiscard]] const PathEvent& next_event(bool is_loop);

  Recorder& recorder_;
  PathWatcher* watcher_ = nullptr;
  Path path_;
  bool replays_ = false;
  std::size_t depth_ = 0;   ///< during a replay: the current frame
  std::size_t cursor_ = 0;  ///< and its next event
};

}  // namespace tdsl::record
