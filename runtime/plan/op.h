#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/plan/space/index.h"
#include "runtime/plan/storage.h"

// A task family with all extents known: what one recorded operation reads and writes, as functions of the coordinates
// of its tasks. It holds no kernel and no data: the executable pairs it with a kernel, `tdslc explain` does not.
//
// A task space has one dimension per dimension of the output and one per reduce label. A task is (output tile, reduce
// tile); tasks of one output tile run in order of their reduce tiles and accumulate into the output block in place.
// Index variables (*labels*) get their interval from the task: an out label from the output tile through the output
// subscript, a reduce label from its own tile.

namespace tdsl::plan {

/// Unique in a run; numbered in recording order, so equal on all ranks.
using TensorId = std::int64_t;

/// What planning needs of an element type: its size. Names are for people.
struct ElementKind {
  Index bytes = 8;
  const char* name = "f64";
};

struct TensorDesc {
  TensorId id = -1;
  ElementKind element;
  std::vector<Index> shape;
  std::string name;           ///< the source's name or a description such as "A @ B"
  std::vector<Index> tile{};  ///< `tile (a, b)` annotation: edges per dimension; empty: none
  Storage storage{};
  Estimate stored{};  ///< elements that are stored, of a sized tensor
  std::shared_ptr<const RowCounts>
      rows{};                 ///< of a sized matrix, where in it they are; null: evenly, for all that is known
  std::vector<bool> uncut{};  ///< per dimension: no block of it has but all of the dimension; empty: none
  [[nodiscard]] bool is_uncut(std::size_t d) const { return d < uncut.size() && uncut[d]; }
  [[nodiscard]] bool has_uncut() const { return std::find(uncut.begin(), uncut.end(), true) != uncut.end(); }
  /// Of a tensor that a program has; parts of a candidate may be more than 64 bits count, and are the largest number
  /// then.
  [[nodiscard]] Index elements() const {
    Index n = 1;
    for (Index e : shape) n = product(n, e);
    return n;
  }
  [[nodiscard]] bool sized() const { return storage.sized(); }
  /// Of a sized tensor what is expected of it as one block.
  [[nodiscard]] Index bytes() const;
  /// Of an element, stored or not.
  [[nodiscard]] double mean_bytes() const;
  /// Of blocks with extents up to these that hold this many elements together, stored or not: a sized tensor's share of
  /// what is stored. No block is among them more than `times` times.
  [[nodiscard]] Estimate block_bytes(const Estimate& blocks, const Estimate& elements,
                                     const std::vector<Index>& extents, double times = 1) const;
  /// Of the block of a box: exact unless the tensor is sized.
  [[nodiscard]] Estimate block_bytes(const Box& box) const;
};

/// The expected share of a tensor's elements that are stored: 1 of a dense one.
[[nodiscard]] double stored_share(const TensorDesc& tensor);

/// sum of coefficient * label + constant.
struct Affine {
  struct Term {
    int label = 0;
    Index coefficient = 1;
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;
  Index constant = 0;
  friend bool operator==(const Affine&, const Affine&) = default;
};

/// One dimension of an access: the elements touched for label intervals L are the hull of the affine form plus every
/// offset in [offset.lo, offset.hi) (neighbouring subscripts merged into one access), divided by `divisor` (towards
/// zero; a divisor below 1 says nothing, so the extent is whole), clipped to the tensor.
struct DimAccess {
  std::vector<Affine::Term> terms;
  Interval offset{0, 1};
  bool whole = false;  ///< the whole extent, whatever the labels
  Index divisor = 1;
  friend bool operator==(const DimAccess&, const DimAccess&) = default;
};

struct Access {
  TensorId tensor = -1;
  std::vector<DimAccess> dims;
};

struct LabelDesc {
  std::string name;
  Interval range;  ///< the label's values
  /// The values come from data (a gather): the kernel has no loop over them but takes those points whose value falls
  /// into the task's interval. No factor of the points that are counted.
  bool from_data = false;
};

/// Label numbers that are none. An output dimension written at a constant; one that numbers partial results.
inline constexpr int kNoLabel = -1;
inline constexpr int kPartLabel = -2;
/// The dimension is written at subscripts that the kernel computes from data (a scatter): every tile along it may be
/// written, so every tile runs over all points and keeps those that fall into it.
inline constexpr int kAnyLabel = -3;

/// Output dimension d is written at coefficient * label + constant (kNoLabel: at the constant alone; kPartLabel: the
/// dimension numbers the parts of reduce labels, tiles of one element). The inverse gives the label's interval for an
/// output tile.
struct OutSubscript {
  int label = kNoLabel;
  Index coefficient = 1;
  Index constant = 0;
};

/// A reduce label. With `part_dim` >= 0 its tiles are grouped into `shape[part_dim]` parts and output coordinate c of
/// that dimension reduces part c only (partial results).
struct ReduceLabel {
  int label = 0;
  int part_dim = -1;
};

enum class OpClass : std::uint8_t {
  kMap,          ///< element-wise work, emitted kernel
  kReduce,       ///< reduction by an emitted kernel
  kContraction,  ///< sum of products through BLIS
  kSource,       ///< generates its output: constants, random numbers
  kLoad,         ///< reads its output from a file
  kStore,        ///< writes its operand to a file; no output tensor
  kCollect,      ///< brings boxes to one rank (print, assert, summaries); no output tensor
  kControl,      ///< replicates a scalar that steers control
  kCombine,      ///< adds partial results in order
  kLoop,     ///< a loop of the program as one task: no labels, and outputs of any shapes, each one block where the task
             ///< runs
  kCopy,     ///< a copy of its operand that the planner keeps elsewhere
  kSave,     ///< writes its operand to a checkpoint; no output tensor
  kRestore,  ///< reads its output from a checkpoint
};
[[nodiscard]] const char* name_of(OpClass c);

/// How partial results of a reduction meet; kNone: the reduction must not be split.
enum class Combine : std::uint8_t { kNone, kSum, kProd, kMin, kMax, kAny, kAll };

/// Neighbouring elements of an output whose partial results meet alike.
struct PackedPiece {
  Combine combine = Combine::kSum;
  Index count = 0;
};

struct Op {
  OpClass op_class = OpClass::kMap;
  std::string name;  ///< the statement's target, for people
  int line = 0;      ///< line of the .tdsl file
  int site = 0;      ///< stable number of the recording place in the program: statistics, explain, messages
  std::vector<LabelDesc> labels;
  std::vector<Index> shape;  ///< extents of the output dimensions (of the task space for kStore)
  std::vector<OutSubscript> out;
  std::vector<ReduceLabel> reduce;
  std::vector<Access> reads;
  std::vector<TensorDesc> outputs;  ///< all of `shape` (kLoop: of shapes of their own)
  std::vector<int>
      continues;  ///< kLoop: per output the read whose elements it starts from (the kernel sees only the output), or -1
  TensorId base = -1;  ///< output blocks start as copies of this tensor's (same shape); -1: none
  Combine combine = Combine::kNone;
  std::vector<PackedPiece> pieces;  ///< of an output of one dimension, from its first element on, instead of `combine`
                                    ///< (which is the first one's); empty: all alike
  double flops_per_point = 1;       ///< floating-point operations per point of the label space
  double product_share = 0;         ///< those of them that BLAS does, of 1: of a fused operator
  bool by_rows =
      false;  ///< a fused operator: what all rows share is read for every block of rows, everything else once
  std::vector<bool>
      uncut;  ///< per output dimension: one tile, never shared by ranks (a kernel needs all of it); empty: none
  std::vector<Index> tile;  ///< `tile (a, b)` annotation of the output; empty: none
  bool replicated = false;  ///< every rank computes everything (tiny scalar work, kControl)
  Index home = -1;          ///< >= 0: all tasks on this rank (kCollect)
  bool ordered = false;     ///< an effect: runs after all earlier ordered operations
  bool divisible = false;   ///< the kernel may be called for parts of its labels' box, one after the other
  /// kContraction, kCombine: the complete block is turned into the result, element by element, with what the reads
  /// behind `own_reads` touch.
  bool epilogue = false;
  bool overwrites =
      false;  ///< with a base: every point of the labels' box is written, and nothing read of what it replaces there
  Index run_ahead =
      0;  ///< bytes that may be received for it while older operations are unfinished; 0: the engine's choice
  bool in_rows = false;  ///< kStore: into a file in C order (.npy, HDF5), where a block may be many pieces
  Index record = -1;     ///< the recorder's own number, which the planner hands back unchanged

  /// Made from nothing, where its first reader wants it; whoever goes on from a checkpoint makes it again.
  [[nodiscard]] bool is_source() const { return op_class == OpClass::kSource || op_class == OpClass::kLoad; }
  /// Whether an output starts from this read.
  [[nodiscard]] bool is_continued(std::size_t read) const {
    for (const int r : continues) {
      if (r == static_cast<int>(read)) return true;
    }
    return false;
  }
  /// The operands of the product itself, or the partial results.
  [[nodiscard]] std::span<const Access> own_reads() const {
    const std::span<const Access> all(reads);
    return !epilogue ? all : all.first(op_class == OpClass::kCombine ? 1 : 2);
  }
  [[nodiscard]] std::span<const Access> epilogue_reads() const {
    return std::span<const Access>(reads).subspan(own_reads().size());
  }
  [[nodiscard]] bool is_uncut(std::size_t d) const { return d < uncut.size() && uncut[d]; }
  /// Whether the whole output is one tile, because every dimension is uncut.
  [[nodiscard]] bool is_one_task() const {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (!is_uncut(d)) return false;
    }
    return !uncut.empty() && reduce.empty();
  }
  [[nodiscard]] int out_rank() const { return static_cast<int>(shape.size()); }
  [[nodiscard]] int space_rank() const { return static_cast<int>(shape.size() + reduce.size()); }
  /// How many reduce labels can be split: partial results have one more dimension for each.
  [[nodiscard]] int most_split_labels() const {
    return std::max(0, std::min(kMaxRank - out_rank(), kMaxDims - space_rank()));
  }
};

}  // namespace tdsl::plan
