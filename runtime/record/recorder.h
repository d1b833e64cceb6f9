#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/record/sink.h"
#include "runtime/record/tensor.h"

namespace tdsl::record {

/// Recorded operations are flushed at the latest when this many are pending.
inline constexpr std::size_t kSegmentLimit = 256;

/// A recording site of the program.
struct Place {
  int site = 0;  ///< plan::Op::site
  int line = 0;
};

/// An output of a loop that runs as one task.
struct LoopOutput {
  std::string name;
  ElementType type = ElementType::kF64;
  std::vector<Index> shape;
  int continues = -1;  ///< the read that initialises it
};

/// Converts the program's actions into segments of operations: numbers tensors and operations, tracks tensor names, and
/// passes segments to a sink. Executables and `tdslc explain` both record through it, so they produce the same
/// segments. Kernels are not recorded: their owner stores them under Op::record.
class Recorder {
 public:
  /// The sink and this recorder must outlive all handles. Tensors are numbered from `first_tensor`.
  explicit Recorder(Sink& sink, plan::TensorId first_tensor = 0) : sink_(sink), next_tensor_(first_tensor) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The number of the next operation: its kernel must be registered before it is recorded, because recording may flush
  /// it.
  [[nodiscard]] Index next_record() const { return next_record_; }

  /// Tensors without operands: read from a file, or generated. `tile`: an annotation, or empty.
  [[nodiscard]] TensorHandle load(std::string_view name, ElementType type, std::vector<Index> shape,
                                  std::vector<Index> tile, Place place);
  /// Reads compressed blocks whose columns are never cut; `stored`: number of elements; `rows`: their distribution, if
  /// known.
  [[nodiscard]] TensorHandle load_stored(std::string_view name, ElementType type, std::vector<Index> shape,
                                         const plan::Estimate& stored, std::shared_ptr<const plan::RowCounts> rows,
                                         std::vector<Index> tile, Place place);
  /// Generates compressed blocks whose columns are never cut.
  [[nodiscard]] TensorHandle stored_source(std::string_view name, ElementType type, std::vector<Index> shape,
                                           const plan::Estimate& stored, std::vector<Index> tile, Place place);
  [[nodiscard]] TensorHandle source(std::string_view name, ElementType type, std::vector<Index> shape,
                                    std::vector<Index> tile, Place place);
  /// Records an operation; the result is a tensor of the operation's shape.
  [[nodiscard]] TensorHandle record(plan::Op op, ElementType type);
  /// Records a loop as one task. Its results are whole tensors on the rank that runs it.
  [[nodiscard]] std::vector<TensorHandle> loop(plan::Op op, std::vector<LoopOutput> outputs);
  /// Makes a scalar available on every rank for control flow. Flushes all recorded operations.
  [[nodiscard]] TensorHandle control(const TensorHandle& scalar, Place place);
  /// Gathers the elements shown in summaries of the tensors, their corners, on one rank, tensor by tensor. Effects
  /// flush all recorded operations.
  void collect(std::string_view name, std::span<const TensorState* const> tensors, Place place);
  /// Passes the whole tensor to rank 0.
  void gather(std::string_view name, const TensorHandle& tensor, Place place);
  /// Writes the tensor to a file.
  void store(std::string_view name, const TensorHandle& tensor, Place place, bool in_rows = false);

  /// Passes recorded operations and released names to the sink.
  void flush();
  /// Reverts names released since the last segment: an error is unwinding the program.
  void forget_drops() { segment_.dropped.clear(); }
  /// Called when the tensor's last handle is released.
  void drop(plan::TensorId tensor) noexcept;

  // Support for programs that can be interrupted and resumed (path.h).

  /// The numbers of the next recorded tensor and operation.
  struct Numbers {
    plan::TensorId tensor = 0;
    Index record = 0;
    friend bool operator==(const Numbers&, const Numbers&) = default;
  };
  [[nodiscard]] Numbers numbers() const { return {next_tensor_, next_record_}; }
  void set_numbers(Numbers numbers);
  /// Tracks named tensors from now on.
  void follow_names() { follows_names_ = true; }
  [[nodiscard]] const std::map<plan::TensorId, TensorState*>& named() const { return named_; }
  /// Adds a name to a tensor; if it has none, as if it had just been recorded.
  [[nodiscard]] TensorHandle name(const plan::TensorDesc& desc, ElementType type);
  /// Passes on a segment of operations not recorded by the program, after flushing everything recorded.
  void hand_on(plan::Segment segment);

 private:
  [[nodiscard]] plan::TensorDesc new_tensor(ElementType type, std::vector<Index> shape, std::string name);
  [[nodiscard]] TensorHandle handle(plan::TensorDesc desc, ElementType type, bool source = false);
  [[nodiscard]] TensorHandle whole_tensor(plan::OpClass op_class, std::string_view name, ElementType type,
                                          const std::vector<Index>& shape, std::vector<Index> tile, Place place);
  void add(plan::Op op);

  Sink& sink_;
  plan::Segment segment_;
  plan::TensorId next_tensor_ = 0;
  Index next_record_ = 0;
  bool follows_names_ = false;
  std::map<plan::TensorId, TensorState*> named_;  ///< if names are tracked
};

}  // namespace tdsl::record
