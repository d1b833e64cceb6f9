#include "codegen/routine.h"

#include <fmt/format.h>

#include "codegen/describe.h"
#include "codegen/operation.h"
#include "ir/check.h"

namespace tdsl::codegen {

namespace {

using ir::Routine;
using Kind = ir::Routine::Kind;

/// A result inside the packed tensor: its first row and column there.
struct Place {
  Extent row;
  Extent column;
  bool as_row = false;     ///< a vector that is a row
};

class RoutineLowering {
 public:
  RoutineLowering(FamilyBuilder& builder, const ir::Node& node, const Routine& routine)
      : builder_(builder), node_(node), routine_(routine), range_(node.range) {
    for (const ValueId v : routine.operands) operands_.push_back(builder.resolve(v));
    for (const ValueId v : node.results) results_.push_back(builder.resolve(v));
  }

  void run() { is_line(routine_.kind) ? line() : matrix(); }

 private:
  // --- Along lines

  void line() {
    switch (routine_.kind) {
      case Kind::kCumsum: return line_operation(results_[0], "cumsum", 2);
      case Kind::kSort: return line_operation(results_[0], "sort", kSortFlops);
      case Kind::kArgsort: return line_operation(results_[0], "argsort", kSortFlops);
      case Kind::kTopk:
        line_operation(results_[0], "topk_values", kSortFlops);
        return line_operation(results_[1], "topk_positions", kSortFlops);
      default: TDSL_CHECK(false, "a routine along lines");
    }
  }

  void line_operation(ValueId target, const char* function, double flops) {
    const std::vector<Extent> shape = extents(target);
    auto op = operation(target, shape);
    AccessTemplate read{operands_[0], {}, {}};
    std::string text;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const bool along = d == static_cast<std::size_t>(routine_.axis);
      op->labels[d].uncut = along;
      read.dims.push_back(along ? whole() : DimTemplate{{{static_cast<int>(d), Extent(1)}}, Extent(0), Extent(1), false});
      text += fmt::format("{}{}", d == 0 ? "" : ", ", along ? ":" : op->labels[d].name);
    }
    read.text = fmt::format("{}[{}]", name_of(builder_.program(), operands_[0]), text);
    op->reads.push_back(std::move(read));
    op->flops_per_point = flops;
    if (shape.size() == 1) warn_gathered("a vector is one line");
    RoutineTemplate kernel{fmt::format("rt::routines::{}", function), builder_.type(operands_[0]).scalar, {}, false};
    kernel.arguments.push_back(std::to_string(routine_.axis));
    add(target, op, std::move(kernel));
  }

  // --- Of matrices

  void matrix() {
    const std::vector<Extent> a = extents(operands_[0]);
    const Extent& m = a[0];
    const Extent& n = a[1];
    warn_gathered("it is not distributed");
    switch (routine_.kind) {
      case Kind::kCholesky: return direct("cholesky", 1.0 / 3, n);
      case Kind::kInv: return direct("inverse", 2, n);
      case Kind::kDet: return direct("determinant", 2.0 / 3, m * m * m);
      case Kind::kSolve: return direct("solve", 2.0 / 3, n * n);
      case Kind::kLstsq: return direct("least_squares", 8, m * n);
      case Kind::kLu: {
        const Extent k = extents(results_[1])[1];
        return packed("lu", {m + k, n + Extent(1)}, 2.0 / 3, k, {{Extent(0), n}, {Extent(0), Extent(0)}, {m, Extent(0)}});
      }
      case Kind::kQr: {
        const Extent k = extents(results_[0])[1];
        return packed("qr", {m + k, n}, 2, k, {{Extent(0), Extent(0)}, {m, Extent(0)}});
      }
      case Kind::kSvd: {
        const Extent k = extents(results_[1])[0];
        return packed("svd", {m + Extent(1) + k, n}, 8, k,
                      {{Extent(0), Extent(0)}, {m, Extent(0), true}, {m + Extent(1), Extent(0)}});
      }
      case Kind::kEigh:
        return packed("eigh", {n + Extent(1), n}, 9, n, {{Extent(0), Extent(0), true}, {Extent(1), Extent(0)}});
      default: TDSL_CHECK(false, "a routine of matrices");
    }
  }

  void direct(const char* function, double flops, const Extent& factor) {
    matrix_operation(results_[0], extents(results_[0]), function, flops, factor);
  }

  void packed(const char* function, const std::vector<Extent>& shape, double flops, const Extent& factor,
              const std::vector<Place>& places) {
    const ir::Scalar scalar = builder_.type(operands_[0]).scalar;
    const ValueId all = builder_.new_value({scalar, shape, {}}, fmt::format("{}_of_{}", function, operand_name(0)), range_, false);
    matrix_operation(all, shape, function, flops, factor);
    for (std::size_t k = 0; k < results_.size(); ++k) unpack(all, scalar, results_[k], places[k]);
  }

  void matrix_operation(ValueId target, const std::vector<Extent>& shape, const char* function, double flops,
                        const Extent& factor) {
    auto op = operation(target, shape);
    for (LabelTemplate& l : op->labels) l.uncut = true;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      AccessTemplate read{operands_[k], {}, {}};
      const std::size_t rank = builder_.type(operands_[k]).rank();
      read.dims.assign(rank, whole());
      read.text = fmt::format("{}[{}]", name_of(builder_.program(), operands_[k]), rank == 1 ? ":" : ":, :");
      op->reads.push_back(std::move(read));
    }
    op->flops_per_point = flops;
    op->flops_factor = factor;
    const std::string name = fmt::format("rt::routines::{}", function);
    add(target, op, {name, builder_.type(operands_[0]).scalar, {}, true});
  }

  /// `result[i, j] = all[row + i, column + j]`
  void unpack(ValueId all, ir::Scalar scalar, ValueId result, const Place& place) {
    ir::Compute c;
    std::vector<Expr> subscripts;
    const std::vector<Extent> shape = extents(result);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      c.out.push_back({label_name(d), Extent(0), shape[d]});
      subscripts.push_back(ir::index_ref(static_cast<std::int32_t>(d)));
    }
    if (shape.size() == 1) subscripts.insert(place.as_row ? subscripts.begin() : subscripts.end(), ir::constant_i64(0));
    subscripts[0] = shifted(subscripts[0], place.row);
    subscripts[1] = shifted(subscripts[1], place.column);
    c.bodies = {ir::cast(builder_.type(result).scalar, ir::read(scalar, all, std::move(subscripts), range_))};
    ir::Node node{range_, {result}, std::move(c)};
    const ir::Compute& compute = std::get<ir::Compute>(node.op);
    lower_compute(builder_, node, compute);
  }

  // --- Both

  static constexpr double kSortFlops = 40;

  [[nodiscard]] static DimTemplate whole() { return {{}, Extent(0), Extent(0), true}; }
  [[nodiscard]] static std::string label_name(std::size_t d) { return std::string(1, static_cast<char>('i' + d)); }

  [[nodiscard]] Expr shifted(const Expr& e, const Extent& by) {
    return by == Extent(0) ? e : ir::binary(ir::BinaryOp::kAdd, e, expr_of(by));
  }
  [[nodiscard]] Expr expr_of(const Extent& e) {
    Expr sum = ir::constant_i64(0);
    for (const auto& [monomial, coefficient] : e.terms()) {
      Expr product = ir::constant_i64(coefficient);
      for (const Extent::AtomRef& atom : monomial) product = ir::binary(ir::BinaryOp::kMul, product, expr_of(*atom));
      sum = ir::binary(ir::BinaryOp::kAdd, sum, product);
    }
    return sum;
  }
  /// A quotient becomes a host value of its own: a subscript that divides would not be affine.
  [[nodiscard]] Expr expr_of(const Extent::Atom& atom) {
    if (atom.kind == Extent::Atom::Kind::kValue) return ir::read(ir::Scalar::kI64, atom.value, {});
    const bool quotient = atom.kind == Extent::Atom::Kind::kQuotient;
    const ir::BinaryOp op = quotient ? ir::BinaryOp::kDiv : ir::BinaryOp::kRem;
    const ValueId v = builder_.new_value({ir::Scalar::kI64, {}, {}}, "size", range_, true);
    builder_.add(range_, HostStep{v, ir::binary(op, expr_of(atom.numerator), expr_of(atom.denominator))});
    return ir::read(ir::Scalar::kI64, v, {});
  }

  [[nodiscard]] std::vector<Extent> extents(ValueId v) {
    std::vector<Extent> result;
    for (const Extent& e : builder_.type(v).shape) result.push_back(builder_.rewritten(e, range_));
    return result;
  }

  [[nodiscard]] std::string operand_name(std::size_t k) const {
    const std::string& name = builder_.program().info(operands_[k]).name;
    return name.empty() || name.size() > 16 ? "operand" : name;
  }

  std::shared_ptr<OpTemplate> operation(ValueId target, const std::vector<Extent>& shape) {
    auto op = std::make_shared<OpTemplate>();
    op->op_class = plan::OpClass::kMap;
    op->site = builder_.new_site();
    const std::string& known = builder_.program().info(target).name;
    op->name = known.empty() ? fmt::format("{}({})", name_of(routine_.kind), operand_name(0)) : known;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      op->labels.push_back({LabelTemplate::Kind::kOut, label_name(d), Extent(0), shape[d], false});
    }
    return op;
  }

  void add(ValueId target, std::shared_ptr<OpTemplate> op, RoutineTemplate kernel) {
    builder_.add(range_, OperationStep{target, std::move(op), std::make_shared<KernelTemplate>(),
                                       std::make_shared<RoutineTemplate>(std::move(kernel))});
  }

  void warn_gathered(const char* reason) {
    std::int64_t bytes = 0;
    for (const ValueId v : operands_) {
      std::int64_t elements = 1;
      for (const Extent& e : extents(v)) {
        const auto extent = e.constant();
        if (!extent || __builtin_mul_overflow(elements, *extent, &elements)) return warn(reason);
      }
      bytes += elements * static_cast<std::int64_t>(ir::size_of(builder_.type(v).scalar));
    }
    if (bytes > kGatheredBytes) warn(reason);
  }
  void warn(const char* reason) {
    builder_.warn("gathered", range_,
                  fmt::format("'{}' runs on one rank, which receives all of '{}': {} (harmless up to 1 MiB)",
                              name_of(routine_.kind), name_of(builder_.program(), operands_[0]), reason));
  }

  FamilyBuilder& builder_;
  const ir::Node& node_;
  const Routine& routine_;
  SourceRange range_;
  std::vector<ValueId> operands_;
  std::vector<ValueId> results_;
};

}  // namespace

void lower_routine(FamilyBuilder& builder, const ir::Node& node, const Routine& routine) {
  RoutineLowering(builder, node, routine).run();
}

}  // namespace tdsl::codegen
