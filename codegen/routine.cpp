#include "codegen/routine.h"

#include <fmt/format.h>

#include "codegen/blocked.h"
#include "codegen/blocked_topk.h"
#include "codegen/describe.h"
#include "codegen/step_writer.h"
#include "ir/check.h"
#include "runtime/plan/factorise.h"

namespace tdsl::codegen {

namespace {

using ir::Routine;
using Kind = ir::Routine::Kind;

constexpr int kWhole = KernelOperand::kWhole;
/// Comparisons of one element on its way to its place.
constexpr double kSortFlops = 40;

/// With so many lines each rank has lines enough of its own.
constexpr std::int64_t kFewLines = 64;

/// A result inside a packed tensor: its first row and column there.
struct Place {
  Extent row;
  Extent column;
  bool as_row = false;  ///< a vector that is a row
};

class RoutineLowering {
 public:
  RoutineLowering(FamilyBuilder& builder, const ir::Node& node, const Routine& routine)
      : builder_(builder), routine_(routine), range_(node.range), write_(builder, node.range) {
    for (const ValueId v : routine.operands) operands_.push_back(builder.resolve(v));
    for (const ValueId v : node.results) results_.push_back(builder.resolve(v));
  }

  void run() {
    const bool one_line = builder_.type(operands_[0]).rank() == 1;
    if ((routine_.kind == Kind::kCumsum || (routine_.kind == Kind::kTopk && one_line)) && !is_small()) return either();
    if (is_line(routine_.kind)) return line(results_);
    if (has_blocked_form(routine_.kind) && !is_small()) return either();
    if (!is_small()) warn("it is not distributed");
    matrix(results_);
  }

 private:
  // --- Along lines

  void line(const std::vector<ValueId>& results) {
    const bool one_line = builder_.type(operands_[0]).rank() == 1;
    const bool in_blocks = routine_.kind == Kind::kCumsum || routine_.kind == Kind::kTopk;
    if (one_line && !in_blocks && !is_small()) warn("a vector is one line");
    if (one_line) report();
    switch (routine_.kind) {
      case Kind::kCumsum: return line_operation(results[0], "cumsum", 2);
      case Kind::kSort: return line_operation(results[0], "sort", kSortFlops);
      case Kind::kArgsort: return line_operation(results[0], "argsort", kSortFlops);
      case Kind::kTopk:
        line_operation(results[0], "topk_values", kSortFlops);
        return line_operation(results[1], "topk_positions", kSortFlops);
      default: TDSL_CHECK(false, "a routine along lines");
    }
  }

  void line_operation(ValueId target, const char* function, double flops) {
    StepWriter::Prebuilt kernel;
    kernel.function = function;
    kernel.axes = axes_of(target);
    kernel.arguments = {Extent(routine_.axis)};
    kernel.flops = flops;
    KernelOperand operand{operands_[0], {}};
    for (std::size_t d = 0; d < kernel.axes.size(); ++d) {
      const bool along = d == static_cast<std::size_t>(routine_.axis);
      kernel.uncut.push_back(along);
      operand.labels.push_back(along ? kWhole : static_cast<int>(d));
    }
    kernel.operands = {std::move(operand)};
    write_.prebuilt_into(target, kernel);
  }

  // --- Of matrices

  /// Both forms; which one runs is decided when the sizes are known.
  void either() {
    if (routine_.kind == Kind::kQr) warn("only matrices with twice as many rows as columns are distributed");
    const ValueId distributed = builder_.new_value({ir::Scalar::kBool, {}, {}}, "distributed", range_, true);
    builder_.add(range_, DistributesStep{distributed, bytes()});
    ValueId condition = distributed;
    const std::vector<Extent> a = extents(operands_[0]);
    if (routine_.kind == Kind::kQr) {
      also(condition, "tall", ir::binary(ir::BinaryOp::kGe, write_.expr(a[0]), write_.expr(a[1] + a[1])));
    }
    if (routine_.kind == Kind::kCumsum && a.size() > 1) {
      // Many lines are shared among ranks as they are.
      Extent lines = 1;
      for (std::size_t d = 0; d < a.size(); ++d) {
        if (d != static_cast<std::size_t>(routine_.axis)) lines = lines * a[d];
      }
      also(condition, "few", ir::binary(ir::BinaryOp::kLt, write_.expr(lines), ir::constant_i64(kFewLines)));
    }
    if (routine_.kind == Kind::kTopk) also(condition, "few", distributes_topk(write_.expr(a[0]), write_.expr(extents(results_[0])[0])));
    write_.either(
        condition, results_,
        [&](const std::vector<ValueId>& values) { add_blocked_form(builder_, {routine_.kind, operands_, values, range_, routine_.axis}); },
        [&](const std::vector<ValueId>& values) { is_line(routine_.kind) ? line(values) : matrix(values); });
  }

  /// Another condition for the distributed form.
  void also(ValueId& condition, const std::string& name, const Expr& other) {
    const ValueId both = builder_.new_value({ir::Scalar::kBool, {}, {}}, name, range_, true);
    builder_.add(range_, HostStep{both, ir::binary(ir::BinaryOp::kAnd, ir::read(ir::Scalar::kBool, condition, {}), other)});
    condition = both;
  }

  /// What the run says when it knows the sizes.
  void report() {
    if (!is_small()) {
      builder_.add(range_, GathersStep{std::string(name_of(routine_.kind)), name_of(builder_.program(), operands_[0]), bytes()});
    }
  }

  void matrix(const std::vector<ValueId>& results) {
    report();
    const std::vector<Extent> a = extents(operands_[0]);
    const Extent& m = a[0];
    const Extent& n = a[1];
    switch (routine_.kind) {
      case Kind::kCholesky: return one_task(results[0], "cholesky", 1.0 / 3, n);
      case Kind::kInv: return one_task(results[0], "inverse", 2, n);
      case Kind::kDet: return one_task(results[0], "determinant", 2.0 / 3, m * m * m);
      case Kind::kSolve: return one_task(results[0], "solve", 2.0 / 3, n * n);
      case Kind::kLstsq: return one_task(results[0], "least_squares", 8, m * n);
      case Kind::kLu: {
        const Extent k = extents(results[1])[1];
        return packed(results, "lu", {m + k, n + Extent(1)}, 2.0 / 3, k, {{Extent(0), n}, {Extent(0), Extent(0)}, {m, Extent(0)}});
      }
      case Kind::kQr: {
        const Extent k = extents(results[0])[1];
        return packed(results, "qr", {m + k, n}, 2, k, {{Extent(0), Extent(0)}, {m, Extent(0)}});
      }
      case Kind::kSvd: {
        const Extent k = extents(results[1])[0];
        return packed(results, "svd", {m + Extent(1) + k, n}, 8, k,
                      {{Extent(0), Extent(0)}, {m, Extent(0), true}, {m + Extent(1), Extent(0)}});
      }
      case Kind::kEigh:
        return packed(results, "eigh", {n + Extent(1), n}, 9, n, {{Extent(0), Extent(0), true}, {Extent(1), Extent(0)}});
      default: TDSL_CHECK(false, "a routine of matrices");
    }
  }

  void packed(const std::vector<ValueId>& results, const char* function, const std::vector<Extent>& shape, double flops, const Extent& factor,
              const std::vector<Place>& places) {
    const ir::Scalar scalar = builder_.type(operands_[0]).scalar;
    const ValueId all = write_.declare(fmt::format("{}_of_{}", function, operand_name()), scalar, shape);
    one_task(all, function, flops, factor);
    for (std::size_t k = 0; k < results.size(); ++k) unpack(all, results[k], places[k]);
  }

  void one_task(ValueId target, const char* function, double flops, const Extent& factor) {
    StepWriter::Prebuilt kernel;
    kernel.function = function;
    kernel.axes = axes_of(target);
    kernel.uncut.assign(kernel.axes.size(), true);
    for (const ValueId v : operands_) kernel.operands.push_back({v, std::vector<int>(builder_.type(v).rank(), kWhole)});
    kernel.names_line = true;
    kernel.flops = flops;
    kernel.factor = factor;
    write_.prebuilt_into(target, kernel);
  }

  /// `result[i, j] = all[row + i, column + j]`
  void unpack(ValueId all, ValueId result, const Place& place) {
    const std::vector<Axis> axes = axes_of(result);
    const Expr row = place.as_row ? write_.expr(place.row) : write_.from(place.row, 0);
    const Expr column = axes.size() == 2 ? write_.from(place.column, 1) : place.as_row ? write_.from(place.column, 0) : write_.expr(place.column);
    write_.map_into(result, axes, ir::cast(builder_.type(result).scalar, write_.at(all, {row, column})));
  }

  // --- Both

  [[nodiscard]] std::vector<Extent> extents(ValueId v) {
    std::vector<Extent> result;
    for (const Extent& e : builder_.type(v).shape) result.push_back(builder_.rewritten(e, range_));
    return result;
  }

  std::vector<Axis> axes_of(ValueId v) {
    std::vector<Axis> axes;
    for (const Extent& e : extents(v)) axes.push_back({std::string(1, static_cast<char>('i' + axes.size())), e});
    return axes;
  }

  [[nodiscard]] std::string operand_name() const {
    const std::string& name = builder_.program().info(operands_[0]).name;
    return name.empty() || name.size() > 16 ? "operand" : name;
  }

  /// Of all operands together.
  Extent bytes() {
    Extent sum;
    for (const ValueId v : operands_) {
      Extent elements = ir::size_of(builder_.type(v).scalar);
      for (const Extent& e : extents(v)) elements = elements * e;
      sum = sum + elements;
    }
    return sum;
  }
  bool is_small() {
    const auto known = bytes().constant();
    return known && *known <= plan::kGatheredBytes;
  }

  void warn(const char* reason) {
    builder_.warn("gathered", range_,
                  fmt::format("'{}' runs on one rank, which receives all of '{}': {} (harmless up to 1 MiB)",
                              name_of(routine_.kind), name_of(builder_.program(), operands_[0]), reason));
  }

  FamilyBuilder& builder_;
  const Routine& routine_;
  SourceRange range_;
  StepWriter write_;
  std::vector<ValueId> operands_;
  std::vector<ValueId> results_;
};

}  // namespace

void lower_routine(FamilyBuilder& builder, const ir::Node& node, const Routine& routine) {
  RoutineLowering(builder, node, routine).run();
}

}  // namespace tdsl::codegen
