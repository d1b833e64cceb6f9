#pragma once

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/io/tensor/tensor_file.h"
#include "runtime/kernels/task.h"
#include "runtime/library/abi.h"
#include "runtime/plan/space/distribution.h"

namespace tdsl::rt {

// Note [Arrays of a caller]
// A program that is called has arrays in place of files. Ranks have boxes of them, any boxes. When a run begins, every
// rank learns which boxes the others have, and what is wrong with any of them is an error on all, before anything has
// been done.
//
// An input is a dense reader (ArrayReader). Once the planner has placed the tensor, and before its operation is
// submitted, every rank knows which elements its tiles lack, and who has them: of several ranks the lowest. What is
// lacking travels in one exchange; where every rank has what its tiles need there is none. A tile that lies in one
// piece in the caller's memory is not copied: its block borrows that memory, and nothing may write there (the reference
// that is kept here makes the engine believe that somebody else needs the block).
//
// An output is a writer (ArrayWriter): what a task writes goes into the boxes of this rank at once, and what other
// ranks want is kept and exchanged when all tasks are over.

/// Of malloc: callers free it.
struct FreeMemory {
  void operator()(std::byte* data) const { std::free(data); }
};
using HeapMemory = std::unique_ptr<std::byte[], FreeMemory>;

/// An array as one rank describes it.
struct Array {
  std::string name;
  ElementType type = ElementType::kF64;
  Extents shape;
  std::vector<Operand> boxes;
  bool ours = false;  ///< an output whose type, shape and memory the run finds
};

/// The arrays of a run.
class Arrays {
 public:
  /// Every rank calls it. `mistake`: what is wrong with this rank's, if anything. Throws the same RunError on all
  /// ranks.
  Arrays(World& world, std::vector<Array> inputs, std::vector<Array> outputs, std::string mistake);

  [[nodiscard]] bool has_input(const std::string& name) const { return inputs_.find(name) < inputs_.mine.size(); }
  /// Whether the caller wants the output.
  [[nodiscard]] bool wants(const std::string& name) const { return outputs_.find(name) < outputs_.mine.size(); }
  /// The input as what a file would be; null if no array was given.
  [[nodiscard]] std::unique_ptr<const TensorReader> reader(const std::string& name);
  /// Every rank calls it when the input has been placed, at the same place of the program.
  void fetch(Engine& engine, const std::string& name, const plan::Distribution& where);
  /// The memory of a tile, where it may be used as it is; else null.
  [[nodiscard]] Engine::Lend lender(Store& store, const std::string& name);

  /// Null if the caller does not want the output.
  [[nodiscard]] std::shared_ptr<TensorWriter> writer(const std::string& name, ElementType type, ExtentSpan shape);
  /// Every rank calls it once all tasks are over, inside the engine's run.
  void deliver(Engine& engine);
  [[nodiscard]] const std::vector<Array>& outputs() const { return outputs_.mine; }
  /// Memory of an output that the run has found, given away.
  [[nodiscard]] HeapMemory take_memory(std::size_t output) { return std::move(memory_[output]); }

  /// Where tensors of that name lie in the plan of a dry run.
  void note(const std::string& name, ElementType type, const plan::Distribution& where);
  struct Placed {
    ElementType type = ElementType::kF64;
    Extents shape;
    std::vector<Box> boxes;  ///< of this rank
  };
  [[nodiscard]] const Placed* placed(const std::string& name) const;

 private:
  friend class ArrayReader;
  friend class ArrayWriter;
  struct Side {
    std::vector<Array> mine;
    std::vector<std::vector<std::vector<Box>>> boxes;               ///< by array and rank
    [[nodiscard]] std::size_t find(const std::string& name) const;  ///< mine.size(): not there
  };
  /// Elements that have come from another rank.
  struct Staged {
    Operand where;
    std::vector<std::byte> message;
  };
  static void compare(World& world, Side& side, std::string mistake);
  void allocate(std::size_t output, ElementType type, ExtentSpan shape);

  int rank_;
  int ranks_;
  Side inputs_, outputs_;
  std::vector<std::vector<Staged>> staged_;  ///< by input: from other ranks
  std::vector<HeapMemory> memory_;           ///< by output
  std::vector<BufferRef> lent_;
  std::mutex mutex_;
  std::vector<std::pair<int, std::vector<std::byte>>> outgoing_;
  std::vector<std::pair<std::string, Placed>> placed_;
};

}  // namespace tdsl::rt
