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

/// Recorded operations are handed on at the latest when this many are waiting.
inline constexpr std::size_t kSegmentLimit = 256;

/// Where the program records something.
struct Place {
  int site = 0;  ///< plan::Op::site
  int line = 0;
};

/// What a loop that runs as one task gives.
struct LoopOutput {
  std::string name;
  ElementType type = ElementType::kF64;
  std::vector<Index> shape;
  int continues = -1;  ///< the read whose elements it starts from
};

/// Turns what a program does into segments of operations: numbers tensors and operations, follows the names of tensors,
/// and hands everything to a sink. Executables and `tdslc explain` record through it, so both give the same segments.
/// Kernels are no part of what is recorded: who has some keeps them under Op::record.
class Recorder {
 public:
  /// The sink, and this recorder, must outlive all handles it gives. Tensors are numbered from `first_tensor` on.
  explicit Recorder(Sink& sink, plan::TensorId first_tensor = 0) : sink_(sink), next_tensor_(first_tensor) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The number that the next operation gets: its kernel must be known before it is recorded, because recording may
  /// hand it on.
  [[nodiscard]] Index next_record() const { return next_record_; }

  /// Tensors without operands: read from a file, or generated. `tile`: an annotation, or empty.
  [[nodiscard]] TensorHandle load(std::string_view name, ElementType type, std::vector<Index> shape,
                                  std::vector<Index> tile, Place place);
  /// Read into compressed blocks, whose columns are never cut; `stored`: elements, and `rows`, if that is known, where.
  [[nodiscard]] TensorHandle load_stored(std::string_view name, ElementType type, std::vector<Index> shape,
                                         const plan::Estimate& stored, std::shared_ptr<const plan::RowCounts> rows,
                                         std::vector<Index> tile, Place place);
  /// Generated as compressed blocks, whose columns are never cut.
  [[nodiscard]] TensorHandle stored_source(std::string_view name, ElementType type, std::vector<Index> shape,
                                           const plan::Estimate& stored, std::vector<Index> tile, Place place);
  [[nodiscard]] TensorHandle source(std::string_view name, ElementType type, std::vector<Index> shape,
                                    std::vector<Index> tile, Place place);
  /// The operation's result, a tensor of the operation's shape.
  [[nodiscard]] TensorHandle record(plan::Op op, ElementType type);
  /// A loop as one task. Its results are whole tensors where it runs.
  [[nodiscard]] std::vector<TensorHandle> loop(plan::Op op, std::vector<LoopOutput> outputs);
  /// A scalar on every rank, to steer control. Hands on everything recorded so far.
  [[nodiscard]] TensorHandle control(const TensorHandle& scalar, Place place);
  /// Brings the elements that summaries of the tensors show to one rank: their corners, tensor by tensor. Effects hand
  /// on everything recorded so far.
  void collect(std::string_view name, std::span<const TensorState* const> tensors, Place place);
  /// Writes the tensor to a file.
  void store(std::string_view name, const TensorHandle& tensor, Place place, bool in_rows = false);

  /// Hands on what was recorded and which names are gone.
  void flush();
  /// Names that have gone since the last segment did not go: an error is unwinding the program.
  void forget_drops() { segment_.dropped.clear(); }
  /// The tensor's last handle is gone.
  void drop(plan::TensorId tensor) noexcept;

  // For programs that can be interrupted and resumed (path.h).

  /// What is recorded next gets these numbers.
  struct Numbers {
    plan::TensorId tensor = 0;
    Index record = 0;
    friend bool operator==(const Numbers&, const Numbers&) = default;
  };
  [[nodiscard]] Numbers numbers() const { return {next_tensor_, next_record_}; }
  void set_numbers(Numbers numbers);
  /// Keeps account of the tensors that have names from now on.
  void follow_names() { follows_names_ = true; }
  [[nodiscard]] const std::map<plan::TensorId, TensorState*>& named() const { return named_; }
  /// One more name of a tensor; of one that has none, as if it had been recorded.
  [[nodiscard]] TensorHandle name(const plan::TensorDesc& desc, ElementType type);
  /// Hands on a segment of operations that the program does not record, after all it has recorded.
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
  std::map<plan::TensorId, TensorState*> named_;  ///< if they are followed
};

}  // namespace tdsl::record
