#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/record/control.h"
#include "runtime/record/recorder.h"

// Note [Paths]
// A *boundary* is the top of an iteration of a loop of the program, before its condition, at any depth. A path says how
// the program came to the boundary it is at: a frame for the program and one for each loop around, with what the loop
// carried when its iteration began and what has been answered since. What an iteration that is over did is of no
// interest any more: all it has left is what its loop carries.
//
//     x = load                    frame 0: events  read 1.5, loop {y = tensor 40}       the first loop is over
//     if x[0] > 1 { … }
//     for … { y = … }
//     for i { s = …               frame 1: i = 7, s = 0.25, x = tensor 95; events  read 3.0
//       while sum(x) < s {        frame 2: iteration 2, x = tensor 99; no events       <- here
//
// *Replay*: the program runs from its beginning, and the control leads it along the path. What is recorded then is not
// carried out (app/engine_sink.h); reads are answered by the path, and so is what the number of ranks or a plan has
// decided; a loop that was over gives what it left, and a loop that was not begins in the iteration that was under way.
// Tensors keep their numbers, since the path says which number came next at every top and every end of a loop; so those
// that have a name at the boundary are known by their numbers, those that variables share included.

namespace tdsl::record {

/// What is known of a tensor whose operation is not recorded again.
struct KnownTensor {
  plan::TensorDesc desc;
  ElementType type = ElementType::kF64;
};

/// The value of a carried variable.
struct CarriedValue {
  std::uint64_t bits = 0;                       ///< of a scalar
  std::shared_ptr<const KnownTensor> tensor{};  ///< null: a scalar, or a variable that names no tensor
};

/// An answer of the past.
struct PathEvent {
  bool is_loop = false;
  std::uint64_t bits = 0;               ///< of a read or a decision
  std::vector<CarriedValue> carried{};  ///< what a loop that is over left
  Recorder::Numbers begin{};            ///< when it began
  Recorder::Numbers end{};              ///< when it was over
};

/// An iteration that is under way.
struct PathFrame {
  Index index = 0;  ///< of a `for` its variable, of a `while` the number of the iteration
  std::vector<CarriedValue> carried{};
  Recorder::Numbers begin{};        ///< when the loop began
  Recorder::Numbers top{};          ///< at the top of the iteration
  std::vector<PathEvent> events{};  ///< since then
};

struct Path {
  std::vector<PathFrame> frames{PathFrame{}};

  /// Whether a replay records the operation that made the tensor.
  [[nodiscard]] bool records(plan::TensorId tensor) const;
};

/// Told where the program is.
class PathWatcher {
 public:
  virtual ~PathWatcher() = default;
  virtual void at_boundary(const Path& path) = 0;
  /// A replay has come to the end of its path: what is recorded from now on is carried out.
  virtual void replayed() = 0;
};

/// The program as it is written; on demand it follows the path, or a path leads it.
class PathControl : public RunControl {
 public:
  explicit PathControl(Recorder& recorder) : RunControl(recorder), recorder_(recorder) {}

  /// From the program's beginning on. The recorder follows names, too.
  void follow(PathWatcher& watcher);
  /// Before the program begins: it is led along the path.
  void replay(Path path);
  [[nodiscard]] bool replays() const { return replays_; }

  void for_loop(Loop loop, Index begin, Index end, Index step, const Body& body) override;
  void while_loop(Loop loop, const Condition& condition, const Body& body) override;
  void choose(int site, std::span<const Branch> forms) override;
  bool read(ElementType type, std::span<std::byte> value) override;
  void answered(std::span<const std::byte> value) override;
  [[nodiscard]] Index decide(Index answer) override;

 private:
  /// Does an iteration and says the next one's index, or false at the end.
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
  std::size_t depth_ = 0;   ///< of a replay: the frame
  std::size_t cursor_ = 0;  ///< and its next event
};

}  // namespace tdsl::record
