#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/app/session/entry_output.h"
#include "runtime/engine/engine.h"
#include "runtime/io/entries/entries.h"
#include "runtime/io/input_file.h"
#include "runtime/io/tensor/tensor_file.h"
#include "runtime/kernels/task.h"
#include "runtime/library/abi.h"
#include "runtime/plan/space/distribution.h"

namespace tdsl::rt {

/// Maximum bytes of elements per message.
inline constexpr Index kArrayMessageBytes = Index{8} << 20;

/// Packs the elements of `box`, a part of `from`, after a header that identifies the array.
[[nodiscard]] std::vector<std::byte> pack_array(std::size_t array, const Operand& from, const Box& box,
                                                Index element_bytes);

/// An unpacked message; refers to its elements, in row-major order.
struct ArrayMessage {
  std::size_t array = 0;
  Operand where;
};
[[nodiscard]] ArrayMessage unpack_array(std::vector<std::byte>& message);

// Note [Arrays of a caller] A library has arrays instead of files. Each rank has boxes of them, in any distribution. At
// the start of a run every rank learns the boxes of the others, and invalid arrays on any rank are an error on all,
// before anything is computed.
//
// An input is a dense reader (ArrayReader). Once the planner has placed the tensor, and before its operation is
// submitted, every rank knows which elements its tiles lack, and which rank supplies them: the lowest of those that
// have them. Missing elements are sent in a single exchange, which is skipped if every rank already has its elements. A
// tile that is contiguous in the caller's memory is not copied: its block borrows that memory read-only (a reference
// kept here makes the engine treat the block as shared).
//
// An output is a writer (ArrayWriter): task results are written immediately to this rank's boxes; elements for other
// ranks are stored and exchanged after all tasks.
//
// Rows of a sparse matrix are entries, as if from a file of entries: of rows that several ranks have, the lowest reads
// them (ArrayEntries). A sparse output is collected as entries of this rank's share of the rows, and kept until `fill`.

/// Memory from malloc, so that callers can free it.
struct FreeMemory {
  void operator()(std::byte* data) const { std::free(data); }
};
using HeapMemory = std::unique_ptr<std::byte[], FreeMemory>;

/// One rank's description of an array.
struct Array {
  std::string name;
  ElementType type = ElementType::kF64;
  Extents shape;
  std::vector<Operand> boxes;
  bool ours = false;    ///< an output whose type, shape and memory are determined by the run
  bool sparse = false;  ///< the data of a box is a tdsl_sparse
  [[nodiscard]] static const tdsl_sparse& rows_of(const Operand& box) {
    return *reinterpret_cast<const tdsl_sparse*>(box.data);
  }
};

/// The arrays of a run.
class Arrays {
 public:
  /// Collective. `mistake`: the error in this rank's arrays, empty if none. Throws the same RunError on all ranks.
  Arrays(World& world, std::vector<Array> inputs, std::vector<Array> outputs, std::string mistake);

  [[nodiscard]] bool has_input(const std::string& name) const { return inputs_.find(name) < inputs_.mine.size(); }
  /// Names, types and shapes, as text that is equal on all ranks.
  [[nodiscard]] const std::string& heads() const { return heads_; }
  /// True if no input is a sparse matrix.
  [[nodiscard]] bool dense_inputs() const { return std::ranges::none_of(inputs_.mine, &Array::sparse); }
  /// True if the caller requests the output.
  [[nodiscard]] bool wants(const std::string& name) const { return outputs_.find(name) < outputs_.mine.size(); }
  /// The input as a file; nothing if no array was given.
  [[nodiscard]] std::optional<InputFile> input(const std::string& name);
  /// Collective, once the input has been placed.
  void fetch(Engine& engine, const std::string& name, const plan::Distribution& where);
  /// Tiles are copied from now on: kernels of this run will be repeated for other memory (Note [Tapes]).
  void copy_all() { lends_ = false; }
  /// True if these are the arrays of the run, which are dense, in one box each, in any memory.
  [[nodiscard]] bool alike(std::span<const tdsl_array> inputs, std::span<const tdsl_array> outputs) const;
  /// After a run of one rank on arrays that are alike: its kernels read and write this memory from now on. Outputs
  /// allocated by the run get new memory.
  void point_to(std::span<const tdsl_array> inputs, std::span<const tdsl_array> outputs);
  /// Returns the caller's memory for tiles that can be used in place; null for others.
  [[nodiscard]] Engine::Lend lender(Store& store, const std::string& name);

  /// Null if the caller does not request the output.
  [[nodiscard]] std::shared_ptr<TensorWriter> writer(const std::string& name, ElementType type, ExtentSpan shape);
  /// Null unless the caller requests the output as a sparse matrix. Throws RunError if it is none.
  [[nodiscard]] std::shared_ptr<EntryOutput> entry_output(const std::string& name, ElementType type, ExtentSpan shape);
  /// This rank's entries of a sparse output, until `fill` has released them; null for others.
  [[nodiscard]] const Entries* entries(std::size_t output) const;
  /// Writes them to the caller's lists. Throws RunError if they do not fit.
  void fill(std::size_t output, const tdsl_sparse& to);
  /// Exchanges output elements. Collective, after all tasks, inside the engine's run.
  void deliver(Engine& engine);
  [[nodiscard]] const std::vector<Array>& inputs() const { return inputs_.mine; }
  [[nodiscard]] const std::vector<Array>& outputs() const { return outputs_.mine; }
  /// Releases the memory of an output allocated by the run.
  [[nodiscard]] HeapMemory take_memory(std::size_t output) { return std::move(memory_[output]); }

  /// Records the layout of a tensor in the plan of a dry run.
  void note(const std::string& name, ElementType type, const plan::Distribution& where);
  struct Placed {
    ElementType type = ElementType::kF64;
    Extents shape;
    std::vector<Box> boxes;  ///< of this rank
  };
  [[nodiscard]] const Placed* placed(const std::string& name) const;

 private:
  friend class ArrayEntries;
  friend class ArrayEntryOutput;
  friend class ArrayReader;
  friend class ArrayWriter;
  struct Side {
    std::vector<Array> mine;
    std::vector<std::vector<std::vector<Box>>> boxes;               ///< by array, then rank
    [[nodiscard]] std::size_t find(const std::string& name) const;  ///< mine.size() if not found
  };
  /// Elements received from another rank.
  struct Staged {
    Operand where;
    std::vector<std::byte> message;
  };
  void compare(World& world, Side& side, std::string mistake);
  void allocate(std::size_t output, ElementType type, ExtentSpan shape);

  int rank_;
  int ranks_;
  std::string heads_;
  Side inputs_, outputs_;
  std::vector<std::vector<Staged>> staged_;      ///< by input: received from other ranks
  std::vector<HeapMemory> memory_;               ///< by output
  std::vector<std::optional<Entries>> entries_;  ///< by output: of sparse ones
  bool lends_ = true;
  std::vector<BufferRef> lent_;
  std::mutex mutex_;
  std::vector<std::pair<int, std::vector<std::byte>>> outgoing_;
  std::vector<std::pair<std::string, Placed>> placed_;
};

}  // namespace tdsl::rt
