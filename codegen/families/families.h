#pragma once

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
#include "ir/analysis/stored_walk.h"
#include "ir/graph/affine.h"
#include "ir/graph/graph.h"
#include "runtime/plan/op.h"
#include "runtime/record/known.h"

// Form (c) of the IR: task families with symbolic extents. A FamilyProgram is what the emitted program does, step by
// step: host arithmetic that every rank repeats, and recorded operations on tensors. The emitter prints it as C++;
// `tdslc explain` walks it with numbers. Both therefore agree on every access, owner and message.
//
// Values. Every value is *host* (a C++ scalar that every rank knows) or a *tensor* (a handle; rank 0 included). Extents
// and expressions mention values; all mentioned values of an Extent are host. A value is assigned by one step, except
// carried values of loops and results of branches, which are variables: the steps that assign them say so.

namespace tdsl::codegen {

using ir::Expr;
using ir::Extent;
using ir::SourceRange;
using ir::ValueId;

/// A correct program that this version cannot compile: "not supported yet", with its place.
class NotSupported : public std::runtime_error {
 public:
  NotSupported(SourceRange range, const std::string& message) : std::runtime_error(message), range_(range) {}
  [[nodiscard]] const SourceRange& range() const { return range_; }

 private:
  SourceRange range_;
};

/// A slow path the user should know of. `id` is the bracketed name, e.g. "gathered".
struct FamilyWarning {
  std::string id;
  SourceRange range;
  std::string message;
};

using ir::Term;
using AffineForm = ir::Affine;

/// plan::DimAccess with symbolic numbers: affine form plus every offset in [lo, hi), divided, or the whole dimension.
struct DimTemplate {
  std::vector<Term> terms;
  Extent lo;
  Extent hi{1};
  bool whole = false;
  Extent divisor{1};
};
struct AccessTemplate {
  ValueId tensor;
  std::vector<DimTemplate> dims;
  std::string text;         ///< `A[i, j]`, of the first read it stands for
  bool compressed = false;  ///< of what is stored by its elements
};
/// plan::OutSubscript. The coefficient is a number; `label` may be plan::kNoLabel or plan::kAnyLabel.
struct OutTemplate {
  int label = plan::kNoLabel;
  plan::Index coefficient = 1;
  Extent constant;
};
struct LabelTemplate {
  enum class Kind : std::uint8_t {
    kOut,    ///< an output dimension by itself
    kWhole,  ///< the same, never cut
    kPlain,  ///< reaches the output through `OpTemplate::write`
    kReduce,
    kGather,  ///< a reduce label whose values come from data (plan::LabelDesc::from_data)
  } kind = Kind::kOut;
  std::string name;
  Extent begin;
  Extent end;
};

/// plan::Op with symbolic numbers.
struct OpTemplate {
  plan::OpClass op_class = plan::OpClass::kMap;
  std::string name;
  int site = 0;
  std::vector<LabelTemplate> labels;  ///< numbered as in the Compute
  bool writes = false;                ///< whether `shape` and `out` are given (left subscripts)
  std::vector<Extent> shape;
  std::vector<OutTemplate> out;
  std::vector<AccessTemplate> reads;
  std::optional<ValueId> base;
  plan::Combine combine = plan::Combine::kNone;
  struct Piece {
    plan::Combine combine = plan::Combine::kNone;
    Extent count;
  };
  std::vector<Piece> pieces;  ///< see plan::Op
  double flops_per_point = 0;
  std::optional<Extent> flops_per_row;  ///< of a fused operator, instead: of one value of its shared label
  Extent product_flops_per_row;         ///< those of them that BLAS computes
  std::vector<Extent> tile;
  bool divisible = false;  ///< see plan::Op
  bool overwrites = false;
  std::vector<ValueId> visits;  ///< compressed tensors of whose stored elements the points that are visited are made;
                                ///< the first one's rows are cut
  std::vector<ValueId> visits_either;  ///< instead: what one of several has stored is visited
  /// Compressed, with no other coordinates than what is visited has (of `visits` the first); or than the points that
  /// are visited.
  enum class StoredResult : std::uint8_t { kNo, kLikeVisited, kOfPoints } stored = StoredResult::kNo;
  std::vector<ValueId>
      stored_within;        ///< compressed tensors of no other coordinates than which a compressed result has some
  bool compresses = false;  ///< the result is compressed, from all points
  /// plan::PointBound with a symbolic number.
  struct PointBound {
    int label = 1;
    bool from_below = true;
    std::int64_t row = 0;
    Extent constant;
  };
  std::vector<PointBound> bounds;    ///< of a compressed matrix: elements outside are absent; if it `compresses`, only
                                     ///< points within are visited
  bool fills_bounds = false;         ///< and as far as is known, each of these has an element
  std::vector<ValueId> elements_of;  ///< the result is compressed, with elements of these in other places
  bool epilogue = false;             ///< see plan::Op
  bool in_any_order =
      false;  ///< a sum of products that is recorded in the order which is best (runtime/record/sum_of_products.h)
};

/// What the kernel of an operation computes. Empty for contractions.
struct KernelTemplate {
  ir::Compute compute;  ///< one body; reads mention families' values; combine only together with the same monoid
  ir::Scalar type = ir::Scalar::kF64;      ///< of the result
  std::optional<ir::StoredWalk> walk;      ///< instead of all points
  std::set<const ir::ExprNode*> bounding;  ///< parts of the guard that OpTemplate::bounds say
  std::vector<ir::Rearranged>
      rearranged;  ///< parts of the result, each from the operand with its number; no other kernel then
  /// The operand (index into OpTemplate::reads) that every Read of a tensor refers to.
  std::unordered_map<const ir::ExprNode*, int> operand;
  /// Subscripts to be checked where they are evaluated: per Read one entry per dimension, the extent to check against
  /// or nothing. Reads without any check are absent.
  std::unordered_map<const ir::ExprNode*, std::vector<std::optional<Extent>>> checked;
  /// Reads that are inside where they are evaluated, as conditions around them tell.
  std::unordered_set<const ir::ExprNode*> trusted;
  /// Values that are at least 0 and less than where the range of an index variable ends, `mod(c, max(n, 1))`, and c if
  /// it is a small number.
  std::map<ValueId, std::optional<std::int64_t>> turns;
  /// Gathers (see Note [Gathers]): per read the label of each dimension that is subscripted by data, or -1.
  std::unordered_map<const ir::ExprNode*, std::vector<int>> gathers;
  /// Scatters: per left subscript the extent it is checked against where it is computed, or nothing for plain ones.
  /// Empty otherwise.
  std::vector<std::optional<Extent>> scattered;
};

/// What the kernel of a fused operator computes: the Computes of an ir::Fused. The last one is the result, or all that
/// close are, packed one behind the other into a tensor of one dimension.
struct FusedTemplate {
  struct Member {
    ValueId value;
    ir::Compute compute;
    ir::Scalar type = ir::Scalar::kF64;  ///< of the value
    std::vector<std::int32_t> shared;    ///< which of its labels
    SourceRange range;
    std::optional<Extent> place = std::nullopt;  ///< of a packed result: its first element there
  };
  std::vector<Member> members;
  /// The operand (index into OpTemplate::reads) that every Read of a tensor from outside refers to.
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
struct ParamStep {
  ValueId target;
  std::string name;
  std::optional<ir::Literal> default_value;
  std::optional<ValueId> computed_default;
};
struct InputStep {
  ValueId target;
  std::string name;
  int site = 0;
};
struct RandomStep {
  ValueId target;
  ir::Random random;
  int site = 0;
};
struct OperationStep {
  ValueId target;
  std::shared_ptr<const OpTemplate> op;
  std::shared_ptr<const KernelTemplate> kernel;
  std::shared_ptr<const FusedTemplate> fused = nullptr;  ///< instead of the kernel, which is empty then
  /// What a contraction's elements become where it has left them (ir::Fused::epilogue): a map whose first operand is
  /// the product, and whose others are those of `op` behind the product's two.
  std::shared_ptr<const OperationStep> epilogue = nullptr;
};
/// A call of a library routine (runtime/routines/algorithms), which records operations by itself.
struct RoutineStep {
  struct Operand {
    ValueId tensor;
    bool ends = false;  ///< it is not used again
  };
  struct Result {
    ValueId target;
    bool wanted = true;
  };
  ir::Routine::Kind kind = ir::Routine::Kind::kCholesky;
  std::vector<Operand> operands;
  std::vector<Result> results;
  std::int64_t axis = 0;
  Extent count;                                 ///< topk: how many
  std::vector<ValueId> sizes;                   ///< what the operands' extents depend on, host or not
  int site = 0;                                 ///< the first of its own
  record::Known known = record::Known::kStart;  ///< of the sizes
  int branch = 0;                               ///< the first of its own, if it has any
};
/// A chain of matrix products, multiplied in the order of fewest multiplications (runtime/record/chain.h).
struct ChainStep {
  ValueId target;
  std::vector<ir::Chain::Factor> factors;
  std::vector<Extent> sizes;
  std::vector<Extent> tile;
  std::string name;
  int site = 0;  ///< the first of as many as there are products
};
/// A serial loop (ir/analysis/serial_loop.h) or a kernel of the user's: one operation of one task, which reads tensors
/// whole.
struct LoopStep {
  struct Result {
    ValueId target;
    int carried = 0;     ///< its number among what the loop carries
    int continues = -1;  ///< the read whose elements it starts from
  };
  std::shared_ptr<const ir::Node> loop;
  ir::ForeignRef kernel = nullptr;   ///< instead of a loop
  std::vector<ValueId> arguments;    ///< of the kernel: host values and tensors
  std::map<ValueId, ValueId> outer;  ///< values from outside the loop: the host value or tensor each of them is
  std::map<ValueId, Extent> sizes;   ///< those that are host integers, as polynomials over host values
  std::vector<AccessTemplate> reads;
  std::vector<Result> results;
  std::string name;
  int site = 0;
  Extent flops;          ///< an estimate
  bool ordered = false;  ///< it holds assertions: effects, in program order
};
/// The value of a rank-0 tensor becomes known to every rank.
struct ControlReadStep {
  ValueId target;
  ValueId tensor;
  int site = 0;
};
/// `declare`: the target is a new variable, else an existing one of an outer place. `move`: the source is not used
/// again.
struct CopyStep {
  ValueId target;
  ValueId source;
  bool declare = false;
  bool move = false;
};
/// Work on one rank reads an operand whole; without a routine, each rank that computes does, or without an operand
/// holds a result whole. The run says so where the bytes are many.
struct GathersStep {
  std::string routine;
  std::string operand;
  Extent bytes;
};
/// A variable that both branches of an If assign.
struct DeclareStep {
  ValueId target;
};
/// An affine subscript that is evaluated whenever all labels have values: `low .. high` (inclusive) against a
/// dimension.
struct SubscriptStep {
  AffineForm subscript;
  std::vector<LabelTemplate> labels;
  Extent extent;
  std::string text;
};
struct ForStep {
  record::Loop known = record::Known::kStart;
  ValueId index;
  ValueId begin;
  ValueId end;
  std::int64_t step = 1;
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
  int site = 0;  ///< of a branch that is not known at start
};
/// One of several forms with equal results, which the plan says.
struct ChooseStep {
  std::vector<Steps> forms;
  std::vector<std::string> names;  ///< for people
  int site = 0;
};
/// The next step that records has extents that come from computed data.
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
};
/// The program's last use of a tensor has been recorded.
struct ReleaseStep {
  ValueId value;
};

using StepOp =
    std::variant<HostStep, DimensionStep, ParamStep, InputStep, RandomStep, OperationStep, RoutineStep, ChainStep,
                 LoopStep, ControlReadStep, CopyStep, GathersStep, DeclareStep, SubscriptStep, ForStep, WhileStep,
                 IfStep, ChooseStep, FenceStep, PrintStep, AssertStep, CheckStep, OutputStep, ReleaseStep>;
struct Step {
  SourceRange range;
  StepOp op;
};

/// What the command line of the executable is made from, in the order of the source.
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
  };
  std::vector<Param> params;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<std::pair<ValueId, std::string>> dimensions;
};

struct FamilyProgram {
  std::string name;
  std::vector<std::string> files;
  std::vector<ir::ValueInfo> values;  ///< those of the index graph (same numbers), then synthetic ones
  std::vector<bool> host;             ///< parallel to values
  Declarations declarations;
  Steps steps;
  int sites = 0;         ///< recording places, choices, and branches not known at start are numbered 1 … sites
  bool chooses = false;  ///< there are choices
  std::vector<FamilyWarning> warnings;
  std::set<std::pair<std::uint32_t, std::uint32_t>> silent =
      {};  ///< files and lines of which the run does not say that they gather

  [[nodiscard]] const ir::ValueInfo& info(ValueId v) const { return values[static_cast<std::size_t>(v.id)]; }
  [[nodiscard]] const ir::Type& type(ValueId v) const { return info(v).type; }
  [[nodiscard]] bool is_host(ValueId v) const { return host[static_cast<std::size_t>(v.id)]; }
};

/// Lowers an index graph (after the passes). Equal computations in different spellings give equal operations.
/// Throws NotSupported.
[[nodiscard]] FamilyProgram lower(const ir::Program& program);

/// Calls `f(ValueId)` for every value a step itself uses, nested steps included (their targets are not uses).
void for_each_use(const FamilyProgram& program, const Step& step, const std::function<void(ValueId)>& f);
/// The steps inside a step, list by list.
void for_each_list(const Step& step, const std::function<void(const Steps&)>& f);
/// The values a step defines or assigns.
[[nodiscard]] std::vector<ValueId> targets_of(const Step& step);

}  // namespace tdsl::codegen
