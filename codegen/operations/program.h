#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "ir/analysis/rearrangement.h"
#include "ir/graph/affine.h"
#include "ir/graph/graph.h"
#include "runtime/plan/op.h"
#include "runtime/plan/sparsity.h"
#include "runtime/plan/time_tile.h"
#include "runtime/record/known.h"

// The operation program, the second of the three forms (docs/architecture.md). It describes the emitted program step by
// step: host arithmetic repeated on every rank, and recorded operations on tensors, with symbolic extents. The emitter
// prints it as C++; `tdslc explain` interprets it with numbers. So both agree on every access, owner and message.
//
// Values. Every value is *host* (a C++ scalar known on every rank) or a *tensor* (a handle; including rank 0). Extents
// and expressions refer to values; all values in an Extent are host values. A value is assigned by a single step,
// except carried values of loops and results of branches, which are variables: the steps that assign them are marked.

template <>
struct tdsl::plan::NumberTypes<tdsl::ir::Extent> {
  using Tensor = ir::ValueId;
  struct Interval {
    ir::Extent lo;
    ir::Extent hi;
    friend bool operator==(const Interval&, const Interval&) = default;
  };
  using Term = ir::Term;
  static constexpr Tensor kNoTensor{};
  static ir::Extent size(const Interval& range) { return range.hi - range.lo; }
};

namespace tdsl::codegen {

using ir::Expr;
using ir::Extent;
using ir::SourceRange;
using ir::ValueId;

/// A correct program that this version cannot compile: "not supported yet", with its location.
class NotSupported : public std::runtime_error {
 public:
  NotSupported(SourceRange range, const std::string& message) : std::runtime_error(message), range_(range) {}
  [[nodiscard]] const SourceRange& range() const { return range_; }

 private:
  SourceRange range_;
};

/// A warning about a slow path. `id` is the bracketed name, e.g. "gathered".
struct RunWarning {
  std::string id;
  SourceRange range;
  std::string message;
};

using ir::Term;
using AffineForm = ir::Affine;

using SymbolicDim = plan::BasicDimAccess<Extent>;
using SymbolicAccess = plan::BasicAccess<Extent>;
using SymbolicLabel = plan::BasicLabel<Extent>;
using SymbolicBound = plan::BasicPointBound<Extent>;

/// A recorded operation with symbolic numbers. Labels are numbered as in the Compute, followed by those of gathers.
/// OpBuilder derives outputs and the work on compressed operands when the operation is recorded.
struct RecordedOp : plan::BasicOp<Extent> {
  RecordedOp() { flops_per_point = 0; }

  plan::Sparsity<Extent> sparsity;
  /// Fused operators: flops per value of the shared label; replaces flops_per_point.
  std::optional<Extent> flops_per_row;
  Extent product_flops_per_row;  ///< the part computed by BLAS
  Extent dense_flops_per_row;    ///< walks over stored elements: the part of members that visit all points
  bool in_any_order = false;     ///< recorded in the best contraction order (runtime/record/sum_of_products.h)
};

[[nodiscard]] inline SymbolicDim whole_dim() { return {{}, {0, 0}, true}; }
/// The labels as index variables.
[[nodiscard]] std::vector<ir::Label> indices_of(const RecordedOp& op);

/// The kernel of an operation. Empty for contractions.
struct ComputeKernel {
  ir::Compute compute;  ///< one body; reads refer to values of the program; `combine` only with the same monoid
  ir::Scalar type = ir::Scalar::kF64;      ///< of the result
  std::set<const ir::ExprNode*> bounding;  ///< conjuncts of the guard that are covered by Sparsity::bounds
  std::vector<ir::Rearranged> rearranged;  ///< parts of the result, each copied from the operand with that number;
                                           ///< there is no other kernel then
  /// The operand (index into RecordedOp::reads) of every Read of a tensor.
  std::unordered_map<const ir::ExprNode*, int> operand;
  /// Run-time subscript checks: per Read one entry per dimension, with the extent to check against or nothing. Reads
  /// without any check are absent.
  std::unordered_map<const ir::ExprNode*, std::vector<std::optional<Extent>>> checked;
  /// Reads that are in bounds wherever they are evaluated, as implied by enclosing conditions.
  std::unordered_set<const ir::ExprNode*> trusted;
  /// Periodic indices: values in [0, end of an index variable's range), `mod(c, max(n, 1))`, with c if it is a small
  /// constant.
  std::map<ValueId, std::optional<std::int64_t>> turns;
  /// Gathers (see Note [Gathers]): per read, the label of each dimension with a data-dependent subscript, or -1.
  std::unordered_map<const ir::ExprNode*, std::vector<int>> gathers;
  /// The result is a part of a packed operand (see FusedKernel): its row-major elements from this position on. Counts
  /// in f64 may become integers. The kernel is the runtime's.
  std::optional<Extent> packed_from;
  /// Scatters: per store subscript, the extent it is checked against when computed, or nothing for plain ones. Empty
  /// otherwise.
  std::vector<std::optional<Extent>> scattered;
  bool once = false;  ///< a scatter by `=` into a compressed result: an element stored twice stops the run
  /// The number of steps of a loop that the kernel runs (TimeTileStep), a host value; absent: one.
  std::optional<ValueId> steps;
  int earlier = 0;                 ///< then the read of the values before the first step
  std::vector<plan::Reach> reach;  ///< and per label the distances of one step
};

/// The kernel of a fused operator: the Computes of an ir::Fused. The result is the last one, or, if packed, all closing
/// ones concatenated into a one-dimensional tensor.
struct FusedKernel {
  struct Member {
    ValueId value;
    ir::Compute compute;
    ir::Scalar type = ir::Scalar::kF64;  ///< of the value
    std::vector<std::int32_t> shared;    ///< its shared labels
    SourceRange range;
    std::optional<Extent> place = std::nullopt;  ///< in a packed result: position of its first element

    /// True if it visits the stored elements of a compressed matrix.
    [[nodiscard]] bool walks() const { return compute.iteration.has_value(); }
    /// True if it has a value per stored element, which is compressed and never stored.
    [[nodiscard]] bool is_element() const {
      return walks() && compute.iteration->result != ir::SparseIteration::Result::kDense;
    }
    /// True for a reduction over the shared labels.
    [[nodiscard]] bool closes() const { return static_cast<std::size_t>(shared[0]) >= compute.out.size(); }
    [[nodiscard]] int label_count() const { return static_cast<int>(compute.out.size() + compute.reduce.size()); }
    [[nodiscard]] const ir::Label& label(int l) const {
      const auto k = static_cast<std::size_t>(l);
      return k < compute.out.size() ? compute.out[k] : compute.reduce[k - compute.out.size()];
    }
    [[nodiscard]] bool is_shared(int l) const { return std::ranges::find(shared, l) != shared.end(); }
    /// True for the label of the rows, the last shared one.
    [[nodiscard]] bool counts_rows(int l) const { return l == shared.back(); }
    /// True for the label of a loop around the blocks of rows.
    [[nodiscard]] bool is_outer(int l) const { return is_shared(l) && !counts_rows(l); }
  };
  std::vector<Member> members;
  /// The operand (index into RecordedOp::reads) of every Read of an outside tensor.
  std::unordered_map<const ir::ExprNode*, int> operand;
};

struct Step;
using Steps = std::vector<Step>;

struct HostStep {  ///< `const double rate = 0.1 * scale;`
  ValueId target;
  Expr value;
};
struct DimensionStep {
  ValueId target;
  std::string name;
};
/// An extent found by data, once it is counted.
struct FoundStep {
  ValueId target;
  ValueId count;
  Extent estimate;   ///< where the count is unknown
  std::string name;  ///< of a dimension; may be empty
};
struct ParamStep {
  ValueId target;
  std::string name;
  std::optional<ir::Literal> default_value;
  std::optional<ValueId> computed_default;
};
/// Visits of a matrix whose columns may be coded, by all operations that read it (runtime/sparse/coded.h).
struct CodedVisits {
  int walks = 0, nests = 0, counts = 0, totals = 0, weights = 0, decoded = 0;
};
struct InputStep {
  ValueId target;
  std::string name;
  CodedVisits visits;
  int site = 0;
};
struct RandomStep {
  ValueId target;
  ir::Random random;
  int site = 0;
};
struct OperationStep {
  ValueId target;
  std::shared_ptr<const RecordedOp> op;
  std::shared_ptr<const ComputeKernel> kernel;
  std::shared_ptr<const FusedKernel> fused = nullptr;  ///< replaces the kernel, which is then empty
  /// Epilogue of a contraction (ir::Fused::epilogue): a map applied to completed elements, whose first operand is the
  /// product and whose other operands follow the product's two in `op`.
  std::shared_ptr<const OperationStep> epilogue = nullptr;
};
/// A call of a library routine (runtime/routines/algorithms), which records its own operations.
struct RoutineStep {
  struct Operand {
    ValueId tensor;
    bool ends = false;  ///< true: this is its last use
  };
  struct Result {
    ValueId target;
    bool wanted = true;
  };
  ir::Routine::Kind kind = ir::Routine::Kind::kCholesky;
  std::vector<Operand> operands;
  std::vector<Result> results;
  std::int64_t axis = 0;
  ir::Routine::SolveKind solves = ir::Routine::SolveKind::kGeneral;
  Extent count;  ///< topk: how many; irfft: how many reals
  ir::Routine::Scale scale = ir::Routine::Scale::kNone;
  std::vector<ValueId> sizes;                   ///< values that the operands' extents depend on, host or not
  int site = 0;                                 ///< the first of its own sites
  record::Known known = record::Known::kStart;  ///< of the sizes
  int branch = 0;                               ///< the first of its own branch sites, if any
};
/// A chain of matrix products, evaluated in the order with the fewest multiplications (runtime/record/chain.h).
struct ChainStep {
  ValueId target;
  std::vector<ir::Chain::Factor> factors;
  std::vector<Extent> sizes;
  std::vector<Extent> tile;
  std::string name;
  int site = 0;  ///< the first of one site per product
};
/// A serial loop (ir/analysis/serial_loop.h) or a user kernel: one operation with a single task, which reads whole
/// tensors.
struct LoopStep {
  struct Result {
    ValueId target;
    int carried = 0;     ///< its position among the loop's carried values
    int continues = -1;  ///< the read that initialises it
  };
  std::shared_ptr<const ir::Node> loop;
  ir::ForeignRef kernel = nullptr;   ///< replaces the loop
  std::vector<ValueId> arguments;    ///< of the kernel: host values and tensors
  std::map<ValueId, ValueId> outer;  ///< values from outside the loop, mapped to host values or tensors
  std::map<ValueId, Extent> sizes;   ///< outer values that are host integers, as polynomials over host values
  std::vector<ValueId> reads;
  std::vector<Result> results;
  std::string name;
  std::string head;  ///< names the loop or the kernel in messages about large operands
  int site = 0;
  Extent flops;          ///< an estimate
  bool ordered = false;  ///< contains assertions: effects, in program order
};
/// Makes the value of a rank-0 tensor known on every rank.
struct ControlReadStep {
  ValueId target;
  ValueId tensor;
  int site = 0;
};
/// `declare`: the target is a new variable, otherwise an existing one of an outer scope. `move`: the last use of the
/// source.
struct CopyStep {
  ValueId target;
  ValueId source;
  bool declare = false;
  bool move = false;
};
/// Each computing rank reads a whole operand; with an empty `operand`, one rank holds a whole result. The run warns if
/// that is large.
struct GathersStep {
  std::string operand;
  Extent bytes;
};
/// A variable that both branches of an If assign.
struct DeclareStep {
  ValueId target;
};
/// Bounds check of an affine subscript when all labels have values: `low .. high` (inclusive) against a dimension.
struct SubscriptStep {
  AffineForm subscript;
  std::vector<ir::Label> labels;
  Extent extent;
  std::string text;
};
struct ForStep {
  record::Loop known = record::Known::kStart;
  ValueId index;
  ValueId begin;
  ValueId end;
  std::int64_t step = 1;
  std::optional<ValueId> every;  ///< the step, if it is a host value
  Steps body;
  std::vector<ValueId> carried;
};
struct WhileStep {
  record::Loop known = record::Known::kStart;
  Steps condition;
  ValueId condition_value;  ///< host
  ValueId iteration;
  Steps body;
  std::vector<ValueId> carried;
};
struct IfStep {
  ValueId condition;
  Steps then_steps;
  Steps else_steps;
  record::Known known = record::Known::kStart;
  int site = 0;  ///< of a branch that is unknown at start
};
/// One of several equivalent forms, selected by the plan.
struct ChooseStep {
  std::vector<Steps> forms;
  std::vector<std::string> names;  ///< for messages
  int site = 0;
};
/// The extents of the next recording step depend on computed data.
struct FenceStep {};
struct PrintStep {
  std::vector<std::variant<std::string, ValueId>> items;
  int site = 0;
};
struct AssertStep {
  ValueId condition;  ///< host or tensor
  std::string message;
  int site = 0;
};
struct CheckStep {
  ir::Check check;
};
struct OutputStep {
  std::string name;
  ValueId value;  ///< a tensor
  int site = 0;
  std::optional<ValueId> record = {};  ///< the number of a series' record, a host value
  bool begins = false;                 ///< the series begins; the tensor has no records
};
/// Follows the last recorded use of a tensor.
struct ReleaseStep {
  ValueId value;
};
/// Steps of a block of the loop that follows (Note [Time tiles] in runtime/plan/time_tile.h).
struct TimeTileStep {
  ValueId target;
  ValueId begin, end;  ///< of the loop
  std::vector<Extent> shape;
  std::vector<plan::Reach> reach;
  std::int64_t element_bytes = 8;
  double flops = 0;  ///< per point and step
};

using StepOp = std::variant<HostStep, DimensionStep, FoundStep, ParamStep, InputStep, RandomStep, OperationStep,
                            RoutineStep, ChainStep, LoopStep, ControlReadStep, CopyStep, GathersStep, DeclareStep,
                            SubscriptStep, ForStep, WhileStep, IfStep, ChooseStep, FenceStep, PrintStep, AssertStep,
                            CheckStep, OutputStep, ReleaseStep, TimeTileStep>;
struct Step {
  SourceRange range;
  StepOp op;
};

/// The source of the executable's command line, in source order.
struct Declarations {
  struct Param {
    std::string name;
    ir::Scalar type = ir::Scalar::kF64;
    std::optional<std::string> default_text;
  };
  struct Tensor {
    std::string name;
    ir::Type type;
    int line = 0;
    bool series = false;  ///< an output whose first dimension is that of the records
  };
  std::vector<Param> params;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<std::pair<ValueId, std::string>> dimensions;
  std::vector<std::string> found;  ///< names of extents found by data
};

struct OperationProgram {
  std::string name;
  std::vector<std::string> files;
  std::vector<ir::ValueInfo> values;  ///< those of the index graph (same numbers), then synthetic ones
  std::vector<bool> host;             ///< parallel to values
  Declarations declarations;
  Steps steps;
  int sites = 0;         ///< recording sites, choices, and branches unknown at start are numbered 1 … sites
  bool chooses = false;  ///< there are choices
  std::map<ValueId, std::string> titles;  ///< for unnamed values: bases of identifiers in emitted code
  std::vector<RunWarning> warnings;
  std::set<std::pair<std::uint32_t, std::uint32_t>> silent =
      {};  ///< files and lines for which the gather warning is suppressed

  [[nodiscard]] const ir::ValueInfo& info(ValueId v) const { return values[static_cast<std::size_t>(v.id)]; }
  [[nodiscard]] const ir::Type& type(ValueId v) const { return info(v).type; }
  [[nodiscard]] bool is_host(ValueId v) const { return host[static_cast<std::size_t>(v.id)]; }
};

/// Calls `f(ValueId)` for every value that a step uses, including nested steps (targets are not uses).
void for_each_use(const OperationProgram& program, const Step& step, const std::function<void(ValueId)>& f);
/// The nested step lists of a step.
void for_each_list(const Step& step, const std::function<void(const Steps&)>& f);
void for_each_list(Step& step, const std::function<void(Steps&)>& f);
/// The values a step defines or assigns.
[[nodiscard]] std::vector<ValueId> targets_of(const Step& step);

}  // namespace tdsl::codegen
