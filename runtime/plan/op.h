#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/plan/space/index.h"
#include "runtime/plan/storage.h"

// A task family with all extents known: the reads and writes of one recorded operation as functions of its tasks'
// coordinates. It holds no kernel and no data: the executable pairs it with a kernel, `tdslc explain` does not.
//
// A task space has one dimension per dimension of the output and one per reduce label. A task is (output tile, reduce
// tile); tasks of one output tile run in order of their reduce tiles and accumulate into the output block in place.
// Index variables (*labels*) get their interval from the task: an out label from the output tile through the output
// subscript, a reduce label from its own tile.

namespace tdsl::plan {

/// Unique within a run; numbered in recording order, so equal on all ranks.
using TensorId = std::int64_t;

/// Element type as planning sees it: only the size matters. Names are for messages.
struct ElementKind {
  Index bytes = 8;
  const char* name = "f64";
  friend bool operator==(const ElementKind& a, const ElementKind& b) {
    return a.bytes == b.bytes && std::string_view(a.name) == b.name;
  }
};

struct TensorDesc {
  TensorId id = -1;
  ElementKind element;
  std::vector<Index> shape;
  std::string name;           ///< the source name or a description such as "A @ B"
  std::vector<Index> tile{};  ///< `tile (a, b)` annotation: edges per dimension; empty: none
  Storage storage{};
  Estimate stored{};                        ///< stored elements of a sized tensor
  std::shared_ptr<const RowCounts> rows{};  ///< row distribution of a sized matrix's elements; null: assumed uniform
  std::vector<bool> uncut{};  ///< per dimension: true if each block must cover the whole dimension; empty: none
  [[nodiscard]] bool is_uncut(std::size_t d) const { return d < uncut.size() && uncut[d]; }
  [[nodiscard]] bool has_uncut() const { return std::find(uncut.begin(), uncut.end(), true) != uncut.end(); }
  /// For a tensor of the program; for parts of a candidate, which may exceed 64 bits, the product saturates.
  [[nodiscard]] Index elements() const {
    Index n = 1;
    for (Index e : shape) n = product(n, e);
    return n;
  }
  [[nodiscard]] bool sized() const { return storage.sized(); }
  /// For a sized tensor: the expected size as one block.
  [[nodiscard]] Index bytes() const;
  /// Per element, stored or not.
  [[nodiscard]] double mean_bytes() const;
  /// Estimated bytes of all blocks no larger than `extents` that together hold `elements`, stored or not; a sized
  /// tensor stores its proportional share. No block is counted more than `times` times, and none has fewer than `least`
  /// elements, stored or not.
  [[nodiscard]] Estimate block_bytes(const Estimate& blocks, const Estimate& elements,
                                     const std::vector<Index>& extents, double times = 1, double least = 0) const;
  /// Bytes of the block of a box: exact unless the tensor is sized.
  [[nodiscard]] Estimate block_bytes(const Box& box) const;
  friend bool operator==(const TensorDesc&, const TensorDesc&) = default;
};

/// The expected fraction of a tensor's elements that are stored: 1 if dense.
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

/// Types that depend on the numbers of an operation: Index at run time, symbolic sizes in the compiler, which defines
/// the specialization for ir::Extent.
template <class Number>
struct NumberTypes;
template <>
struct NumberTypes<Index> {
  using Tensor = TensorId;
  using Interval = plan::Interval;
  using Term = Affine::Term;
  static constexpr Tensor kNoTensor = -1;
  static Index size(const Interval& range) { return range.size(); }
};

/// One dimension of an access: the elements accessed for label intervals L are the hull of the affine form plus every
/// offset in [offset.lo, offset.hi) (neighbouring subscripts merged into one access), divided by `divisor` (towards
/// zero; a divisor below 1 gives no information, so the whole extent is accessed), clipped to the tensor.
template <class Number>
struct BasicDimAccess {
  std::vector<typename NumberTypes<Number>::Term> terms;
  typename NumberTypes<Number>::Interval offset{0, 1};
  bool whole = false;  ///< the whole extent, for any labels
  Number divisor = 1;
  /// A whole dimension of a compressed operand: at every visited point, the value of this label is the subscript of an
  /// element that the operand stores here. -1: none.
  int walked = -1;
  friend bool operator==(const BasicDimAccess&, const BasicDimAccess&) = default;
};
using DimAccess = BasicDimAccess<Index>;

template <class Number>
struct BasicAccess {
  typename NumberTypes<Number>::Tensor tensor = NumberTypes<Number>::kNoTensor;
  std::vector<BasicDimAccess<Number>> dims;
  friend bool operator==(const BasicAccess&, const BasicAccess&) = default;
};
using Access = BasicAccess<Index>;

template <class Number>
struct BasicLabel {
  std::string name;
  typename NumberTypes<Number>::Interval range;  ///< the label's range of values
  /// The values are data-dependent (a gather): the kernel does not loop over them but selects the points whose value is
  /// in the task's interval. The label does not multiply the number of points.
  bool from_data = false;
  friend bool operator==(const BasicLabel&, const BasicLabel&) = default;
};
using LabelDesc = BasicLabel<Index>;

/// Special label numbers: an output dimension written at a constant; one that numbers partial results.
inline constexpr int kNoLabel = -1;
inline constexpr int kPartLabel = -2;
/// The dimension is written at data-dependent subscripts (a scatter): any tile along it may be written, so every tile
/// iterates over all points and keeps those inside the tile.
inline constexpr int kAnyLabel = -3;

/// Output dimension d is written at coefficient * label + constant (kNoLabel: at the constant alone; kPartLabel: the
/// dimension numbers the parts of reduce labels, in tiles of one element). The inverse maps an output tile to the
/// label's interval.
template <class Number>
struct BasicOutSubscript {
  int label = kNoLabel;
  Index coefficient = 1;
  Number constant = 0;
  friend bool operator==(const BasicOutSubscript&, const BasicOutSubscript&) = default;
};
using OutSubscript = BasicOutSubscript<Index>;

/// A reduce label. With `part_dim` >= 0 its tiles are grouped into `shape[part_dim]` parts and output coordinate c of
/// that dimension reduces part c only (partial results).
struct ReduceLabel {
  int label = 0;
  int part_dim = -1;
  friend bool operator==(const ReduceLabel&, const ReduceLabel&) = default;
};

enum class OpClass : std::uint8_t {
  kMap,          ///< element-wise operation, emitted kernel
  kReduce,       ///< reduction by an emitted kernel
  kContraction,  ///< sum of products through BLIS
  kSource,       ///< generates its output: constants, random numbers
  kLoad,         ///< reads its output from a file
  kStore,        ///< writes its operand to a file; no output tensor
  kCollect,      ///< gathers boxes on one rank (print, assert, summaries); no output tensor
  kControl,      ///< replicates a scalar that control flow depends on
  kCombine,      ///< adds partial results in order
  kLoop,         ///< a program loop as one task: no labels; outputs of any shapes, each one block on the task's rank
  kCopy,         ///< a copy of its operand that the planner stores under another layout
  kSave,         ///< writes its operand to a checkpoint; no output tensor
  kRestore,      ///< reads its output from a checkpoint
};
[[nodiscard]] const char* name_of(OpClass c);

/// How partial results of a reduction are combined; kNone: the reduction must not be split.
enum class Combine : std::uint8_t { kNone, kSum, kProd, kMin, kMax, kAny, kAll };

/// A contiguous range of output elements whose partial results are combined by the same operator.
template <class Number>
struct BasicPiece {
  Combine combine = Combine::kSum;
  Number count = 0;
  friend bool operator==(const BasicPiece&, const BasicPiece&) = default;
};
using PackedPiece = BasicPiece<Index>;

/// The use of a label.
enum class LabelRole : std::uint8_t {
  kOut,     ///< subscripts an output dimension
  kWhole,   ///< subscripts an output dimension that is never cut
  kPlain,   ///< subscripts no output dimension, and is not reduced by the planner
  kReduce,  ///< reduced
  kGather,  ///< reduced, with data-dependent values (BasicLabel::from_data)
};

/// An operation. A new member also needs a line in `visit_fields` below, and a flag that emitted programs set also a
/// setter of OpBuilder.
template <class Number>
struct BasicOp {
  using Tensor = typename NumberTypes<Number>::Tensor;
  OpClass op_class = OpClass::kMap;
  std::string name;  ///< the statement's target, for messages
  int line = 0;      ///< line of the .tdsl file
  int site = 0;      ///< stable number of the recording site in the program: statistics, explain, messages
  std::vector<BasicLabel<Number>> labels;
  std::vector<Number> shape;  ///< extents of the output dimensions (of the task space for kStore)
  std::vector<BasicOutSubscript<Number>> out;
  std::vector<ReduceLabel> reduce;
  std::vector<BasicAccess<Number>> reads;
  std::vector<TensorDesc> outputs;  ///< all of `shape` (kLoop: each has its own shape)
  std::vector<int>
      continues;  ///< kLoop: per output, the read that initialises it (the kernel sees only the output), or -1
  Tensor base =
      NumberTypes<Number>::kNoTensor;  ///< output blocks are initialised from this tensor (same shape), if any
  Combine combine = Combine::kNone;
  std::vector<BasicPiece<Number>> pieces;  ///< ranges of a one-dimensional output, from its first element, replacing
                                           ///< `combine` (which equals the first range's); empty: one operator for all
  double flops_per_point = 1;              ///< floating-point operations per point of the label space
  double dense_flops_per_point = 0;        ///< the part of a fused operator's that does not depend on stored elements
  double product_share = 0;  ///< flops per point done by BLAS in a fused operator, per unit of flops_per_point
  bool by_rows = false;  ///< a fused operator: operands shared by all rows are read once per row block, all others once
  std::vector<bool> uncut;   ///< per output dimension: a single tile, never split among ranks (the kernel needs the
                             ///< whole dimension); empty: none
  std::vector<Number> tile;  ///< `tile (a, b)` annotation of the output; empty: none
  bool replicated = false;   ///< every rank computes everything (small scalar work, kControl)
  Index home = -1;           ///< >= 0: all tasks on this rank (kCollect)
  bool ordered = false;      ///< a side effect: runs after all earlier ordered operations
  bool divisible = false;    ///< the kernel may be called on parts of its labels' box, one after the other
  bool by_blocks = false;  ///< the kernel reads dense operands block by block (Operand::parts) where boxes have several
  /// kContraction, kCombine: the completed block is transformed element by element into the result, using the reads
  /// after `own_reads`.
  bool epilogue = false;
  bool overwrites = false;  ///< every point of the labels' box is written, after its own reads; no other element of a
                            ///< base is read there
  /// An assembly whose entries are the elements of its first operand, each once: a transposition. The result's rows are
  /// the operand's columns, and the reduce label is the operand's rows.
  bool moves = false;
  Index run_ahead = 0;  ///< limit on bytes received for it while older operations are unfinished; 0: the engine decides
  bool in_rows = false;  ///< kStore: into a file in C order (.npy, HDF5), in which a block may be many pieces
  Index record = -1;     ///< the recorder's own number, returned unchanged by the planner
  friend bool operator==(const BasicOp&, const BasicOp&) = default;

  [[nodiscard]] bool has_base() const { return base != NumberTypes<Number>::kNoTensor; }
  /// Adds an output dimension with the label's range, written at label - range.lo.
  void add_out(BasicLabel<Number> label) {
    out.push_back({static_cast<int>(labels.size()), 1, Number(0) - label.range.lo});
    shape.push_back(NumberTypes<Number>::size(label.range));
    labels.push_back(std::move(label));
  }
  void add_reduce(BasicLabel<Number> label) {
    reduce.push_back({static_cast<int>(labels.size()), -1});
    labels.push_back(std::move(label));
  }
  void set_uncut(std::size_t d) {
    uncut.resize(shape.size(), false);
    uncut[d] = true;
  }
  [[nodiscard]] LabelRole role_of(int label) const {
    const auto is_label = [label](const auto& use) { return use.label == label; };
    if (std::ranges::any_of(reduce, is_label))
      return labels[static_cast<std::size_t>(label)].from_data ? LabelRole::kGather : LabelRole::kReduce;
    const auto dim = std::ranges::find_if(out, is_label);
    if (dim == out.end()) return LabelRole::kPlain;
    return is_uncut(static_cast<std::size_t>(dim - out.begin())) ? LabelRole::kWhole : LabelRole::kOut;
  }
  /// Generated without operands, where its first reader needs it; a restart from a checkpoint generates it again.
  [[nodiscard]] bool is_source() const { return op_class == OpClass::kSource || op_class == OpClass::kLoad; }
  /// True if an output is initialised from this read.
  [[nodiscard]] bool is_continued(std::size_t read) const {
    for (const int r : continues) {
      if (r == static_cast<int>(read)) return true;
    }
    return false;
  }
  /// The operands of the product itself, or the partial results.
  [[nodiscard]] std::span<const BasicAccess<Number>> own_reads() const {
    const std::span<const BasicAccess<Number>> all(reads);
    return !epilogue ? all : all.first(op_class == OpClass::kCombine ? 1 : 2);
  }
  [[nodiscard]] std::span<const BasicAccess<Number>> epilogue_reads() const {
    return std::span<const BasicAccess<Number>>(reads).subspan(own_reads().size());
  }
  [[nodiscard]] bool is_uncut(std::size_t d) const { return d < uncut.size() && uncut[d]; }
  /// True if the whole output is one tile because every dimension is uncut.
  [[nodiscard]] bool is_one_task() const {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (!is_uncut(d)) return false;
    }
    return !uncut.empty() && reduce.empty();
  }
  [[nodiscard]] int out_rank() const { return static_cast<int>(shape.size()); }
  [[nodiscard]] int space_rank() const { return static_cast<int>(shape.size() + reduce.size()); }
  /// Number of reduce labels that can be split: partial results have one extra dimension for each.
  [[nodiscard]] int most_split_labels() const {
    return std::max(0, std::min(kMaxRank - out_rank(), kMaxDims - space_rank()));
  }
};
using Op = BasicOp<Index>;

/// True if the operation assembles a compressed tensor: its points have computed positions, and the values of an
/// element are combined in the order of the points (Note [Assemblies]). So only the first reduce label may be cut.
[[nodiscard]] inline bool assembles(const Op& op) {
  return op.outputs.size() == 1 && op.outputs.front().sized() &&
         std::ranges::any_of(op.out, [](const OutSubscript& s) { return s.label == kAnyLabel; });
}

template <class Visitor, class... Accesses>
void visit_access(Visitor& v, Accesses&... access) {
  v.tensor("of", access.tensor...);
  v.list(
      "at",
      [](auto& to, auto&... dim) {
        to.property("whole", dim.whole...);
        to.list(
            "labels",
            [](auto& term_to, auto&... term) {
              term_to.property("", term.label...);
              term_to.number("by", term.coefficient...);
            },
            dim.terms...);
        to.number("from", dim.offset.lo...);
        to.number("to", dim.offset.hi...);
        to.number("divisor", dim.divisor...);
        to.property("walked", dim.walked...);
      },
      access.dims...);
}

/// Visits all members of an operation, or of several in parallel, whose number types may differ. The first
/// argument is the member's name in the text form, empty for the value of a list's element. `v` receives
///   note(name, x…)        a name, location or bookkeeping, which has no influence on the plan
///   property(name, x…)    a member whose type does not depend on Number
///   flag(setter, x…)      a bool, with the name of its OpBuilder setter
///   estimate(name, x…)    a value derived from the operands' descriptors
///   number(name, x…)      a Number
///   tensor(name, x…)      an operand
///   list(name, each, x…)  vectors, whose elements are visited by each(v, element…)
///   outputs(x…)           descriptors of the outputs
/// Instantiation, uses, signatures, cost texts, region hashes, text and emitted flags follow from this list.
template <class Visitor, class... Ops>
void visit_fields(Visitor& v, Ops&... op) {
  const auto number = [](auto& to, auto&... x) { to.number("", x...); };
  v.property("class", op.op_class...);
  v.note("name", op.name...);
  v.note("line", op.line...);
  v.note("site", op.site...);
  v.list(
      "labels",
      [](auto& to, auto&... label) {
        to.note("", label.name...);
        to.number("from", label.range.lo...);
        to.number("to", label.range.hi...);
        to.property("from_data", label.from_data...);
      },
      op.labels...);
  v.list("shape", number, op.shape...);
  v.list(
      "out",
      [](auto& to, auto&... subscript) {
        to.property("", subscript.label...);
        to.property("by", subscript.coefficient...);
        to.number("plus", subscript.constant...);
      },
      op.out...);
  v.list(
      "reduce",
      [](auto& to, auto&... reduced) {
        to.property("", reduced.label...);
        to.property("part", reduced.part_dim...);
      },
      op.reduce...);
  v.list(
      "reads", [](auto& to, auto&... access) { visit_access(to, access...); }, op.reads...);
  v.tensor("base", op.base...);
  v.outputs(op.outputs...);
  v.list(
      "continues", [](auto& to, auto&... read) { to.property("", read...); }, op.continues...);
  v.property("combine", op.combine...);
  v.list(
      "pieces",
      [](auto& to, auto&... piece) {
        to.property("", piece.combine...);
        to.number("", piece.count...);
      },
      op.pieces...);
  v.estimate("flops", op.flops_per_point...);
  v.estimate("dense_flops", op.dense_flops_per_point...);
  v.estimate("product_share", op.product_share...);
  v.property("by_rows", op.by_rows...);
  v.property("uncut", op.uncut...);
  v.list("tile", number, op.tile...);
  v.property("home", op.home...);
  v.property("ordered", op.ordered...);
  v.property("in_rows", op.in_rows...);
  v.flag("replicated", op.replicated...);
  v.flag("epilogue", op.epilogue...);
  v.flag("divisible", op.divisible...);
  v.flag("by_blocks", op.by_blocks...);
  v.flag("overwrites", op.overwrites...);
  v.flag("moves", op.moves...);
  v.note("run_ahead", op.run_ahead...);
  v.note("record", op.record...);
}

}  // namespace tdsl::plan
