#include "ir/verify/parts.h"

#include <fmt/format.h>

namespace tdsl::ir {

namespace {

class RoutineVerifier {
 public:
  RoutineVerifier(const Program& program, const Node& node, const Routine& routine)
      : program_(program), node_(node), routine_(routine) {}

  std::vector<std::string> run() {
    if (routine_.kind == Routine::Kind::kForeign) {
      foreign();
    } else if (is_line(routine_.kind)) {
      line();
    } else {
      matrix();
    }
    return std::move(problems_);
  }

 private:
  bool require(bool good, const std::string& message) {
    if (!good) problems_.push_back(message);
    return good;
  }

  bool counts(std::size_t operands, std::size_t results) {
    return require(routine_.operands.size() == operands && node_.results.size() == results,
                   fmt::format("{} has {} operands and {} results", name_of(routine_.kind), operands, results));
  }

  [[nodiscard]] const Type& operand(std::size_t k) const { return program_.type(routine_.operands[k]); }

  void foreign() {
    if (!require(routine_.foreign != nullptr && routine_.foreign->is_kernel, "a foreign routine names no kernel"))
      return;
    std::size_t operands = 0;
    std::size_t results = 0;
    for (const Foreign::Parameter& p : routine_.foreign->parameters) {
      const std::vector<ValueId>& list = p.is_output ? node_.results : routine_.operands;
      const std::size_t k = p.is_output ? results++ : operands++;
      if (k >= list.size()) continue;
      const Type& type = program_.type(list[k]);
      require(type.scalar == p.type && type.rank() == p.rank,
              fmt::format("`{}` has another type than the kernel declares", p.name));
    }
    counts(operands, results);
  }

  void result(std::size_t k, Scalar scalar, const std::vector<Extent>& shape) {
    const Type& type = program_.type(node_.results[k]);
    require(type.scalar == scalar, fmt::format("result {} is not {}", k, name_of(scalar)));
    if (!require(type.rank() == shape.size(), fmt::format("result {} has not the rank {}", k, shape.size()))) return;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      require((type.shape[d] - shape[d]).constant().value_or(0) == 0,
              fmt::format("dimension {} of result {} cannot have the extent it should have", d, k));
    }
  }

  void line() {
    if (is_fourier(routine_.kind)) return fourier();
    if (routine_.kind == Routine::Kind::kFilter) return filter();
    const bool top = routine_.kind == Routine::Kind::kTopk;
    if (!counts(1, top ? 2 : 1)) return;
    const Type& a = operand(0);
    if (!require(routine_.axis >= 0 && routine_.axis < static_cast<std::int64_t>(a.rank()), "the axis does not exist"))
      return;
    std::vector<Extent> shape = a.shape;
    const auto axis = static_cast<std::size_t>(routine_.axis);
    const std::vector<Extent>& first = program_.type(node_.results[0]).shape;
    if (top && axis < first.size()) shape[axis] = first[axis];
    if (routine_.kind == Routine::Kind::kCumsum || routine_.kind == Routine::Kind::kCumprod)
      require(is_float(a.scalar) || a.scalar == Scalar::kI64 || a.scalar == Scalar::kU64,
              "cumsum and cumprod combine i64, u64, floats or complex numbers");
    result(0, routine_.kind == Routine::Kind::kArgsort ? Scalar::kI64 : a.scalar, shape);
    if (top) result(1, Scalar::kI64, shape);
  }

  void filter() {
    if (!counts(2, 1)) return;
    const Type &a = operand(0), &mask = operand(1);
    const auto axis = static_cast<std::size_t>(routine_.axis);
    if (!require(routine_.axis >= 0 && axis < a.rank(), "the axis does not exist")) return;
    if (!require(mask.scalar == Scalar::kBool && mask.rank() == 1, "the mask is not a vector of bools")) return;
    require((mask.shape[0] - a.shape[axis]).constant().value_or(0) == 0, "the mask cannot have the extent of the axis");
    std::vector<Extent> shape = a.shape;
    const std::vector<Extent>& kept = program_.type(node_.results[0]).shape;
    if (axis < kept.size()) shape[axis] = kept[axis];
    result(0, a.scalar, shape);
  }

  void fourier() {
    if (!counts(1, 1)) return;
    const Type& a = operand(0);
    const auto axis = static_cast<std::size_t>(routine_.axis);
    if (!require(routine_.axis >= 0 && axis < a.rank(), "the axis does not exist")) return;
    const bool from_reals = routine_.kind == Routine::Kind::kRfft;
    const bool to_reals = routine_.kind == Routine::Kind::kIrfft;
    if (!require(is_real(a.scalar) ? !to_reals : is_complex(a.scalar) && !from_reals,
                 "the operand is not of floats or complex, for rfft real and for irfft complex"))
      return;
    std::vector<Extent> shape = a.shape;
    const std::vector<Extent>& made = program_.type(node_.results[0]).shape;
    if ((from_reals || to_reals) && axis < made.size()) shape[axis] = made[axis];
    result(0, to_reals ? part_type(a.scalar) : complex_type(part_type(a.scalar)), shape);
  }

  /// The extent k = min(m, n) in the first result's type.
  [[nodiscard]] Extent thin(std::size_t of_result, std::size_t dimension) const {
    const Type& type = program_.type(node_.results[of_result]);
    return batch_.size() + dimension < type.rank() ? type.shape[batch_.size() + dimension] : Extent(0);
  }

  /// The other routines get the real form of a complex matrix.
  [[nodiscard]] bool has_complex_kernel() const {
    switch (routine_.kind) {
      case Routine::Kind::kLu:
      case Routine::Kind::kSvd:
      case Routine::Kind::kEigh:
      case Routine::Kind::kEig:
      case Routine::Kind::kInv:
      case Routine::Kind::kDet: return true;
      default: return false;
    }
  }

  void matrix() {
    const bool right_side = routine_.kind == Routine::Kind::kSolve || routine_.kind == Routine::Kind::kLstsq;
    const bool three = routine_.kind == Routine::Kind::kLu || routine_.kind == Routine::Kind::kSvd;
    const bool two = routine_.kind == Routine::Kind::kQr || routine_.kind == Routine::Kind::kEigh ||
                     routine_.kind == Routine::Kind::kEig;
    if (!counts(right_side ? 2 : 1, three ? 3 : two ? 2 : 1)) return;
    const Type& a = operand(0);
    const bool complex = is_complex(a.scalar) && has_complex_kernel();
    if (!require(a.rank() >= 2 && (routine_.kind == Routine::Kind::kEig ? complex : complex || is_real(a.scalar)),
                 "the operand is not a matrix of floats"))
      return;
    batch_.assign(a.shape.begin(), a.shape.end() - 2);
    const Extent& m = a.shape[batch_.size()];
    const Extent& n = a.shape[batch_.size() + 1];
    switch (routine_.kind) {
      case Routine::Kind::kSolve:
      case Routine::Kind::kLstsq: return solution(n);
      case Routine::Kind::kCholesky:
      case Routine::Kind::kInv: return each(0, a.scalar, {m, n});
      case Routine::Kind::kDet: return each(0, a.scalar, {});
      case Routine::Kind::kLu:
        each(0, Scalar::kI64, {m});
        each(1, a.scalar, {m, thin(1, 1)});
        return each(2, a.scalar, {thin(1, 1), n});
      case Routine::Kind::kQr: each(0, a.scalar, {m, thin(0, 1)}); return each(1, a.scalar, {thin(0, 1), n});
      case Routine::Kind::kSvd:
        each(0, a.scalar, {m, thin(0, 1)});
        each(1, a.scalar, {thin(0, 1)});
        return each(2, a.scalar, {thin(0, 1), n});
      case Routine::Kind::kEigh:
      case Routine::Kind::kEig: each(0, a.scalar, {n}); return each(1, a.scalar, {n, n});
      default: return;
    }
  }

  /// A result with that shape for each matrix of the batch.
  void each(std::size_t k, Scalar scalar, const std::vector<Extent>& shape) {
    std::vector<Extent> all = batch_;
    all.insert(all.end(), shape.begin(), shape.end());
    result(k, scalar, all);
  }

  /// The result of solve and lstsq with `n` unknowns.
  void solution(const Extent& n) {
    const Type& a = operand(0);
    const Type& b = operand(1);
    const std::size_t count = batch_.size();
    const bool ranks = b.rank() == a.rank() || b.rank() + 1 == a.rank();
    if (!require(ranks && b.scalar == a.scalar, "the right side has another type")) return;
    std::vector<Extent> shape = b.shape;
    for (std::size_t d = 0; d < count; ++d) {
      if (shape[d].constant() == 1) shape[d] = batch_[d];
    }
    shape[count] = n;
    result(0, a.scalar, shape);
  }

  const Program& program_;
  const Node& node_;
  const Routine& routine_;
  std::vector<Extent> batch_;  ///< of a matrix routine
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> routine_problems(const Program& program, const Node& node, const Routine& routine) {
  return RoutineVerifier(program, node, routine).run();
}

}  // namespace tdsl::ir
