#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "runtime/check.h"
#include "runtime/routines/algorithms/forms.h"
#include "runtime/routines/algorithms/steps.h"

namespace tdsl::rt::routines {

namespace {

/// Estimated comparisons per element.
constexpr double kSortFlops = 40;

class OneRank : private Steps {
 public:
  OneRank(Caller& caller, Call& call, int first) : Steps(caller, call), first_(first) {}

  void run() {
    const std::vector<Index> shape = operand(0).state().desc.shape;
    if (is_line()) {
      if (shape.size() == 1) report();
      lines(shape);
      return release_operands();
    }
    report();
    const Index m = shape[0];
    const Index n = shape[1];
    const Index k = std::min(m, n);
    const double rows = static_cast<double>(m);
    const double columns = static_cast<double>(n);
    switch (call_.routine) {
      case Routine::kCholesky: return one(KernelName::kCholesky, shape, columns / 3);
      case Routine::kInv: return one(KernelName::kInverse, shape, 2 * columns);
      case Routine::kDet: return one(KernelName::kDeterminant, {}, 2.0 / 3 * (rows * rows * rows));
      case Routine::kSolve:
        return one(KernelName::kSolve, operand(1).state().desc.shape, 2.0 / 3 * (columns * columns));
      case Routine::kLstsq: return one(KernelName::kLeastSquares, solution_shape(n), 8 * (rows * columns));
      case Routine::kLu: {
        const TensorHandle all = packed(KernelName::kLu, {m + k, n + 1}, 2.0 / 3 * static_cast<double>(k));
        unpack_rows(0, all, m, n);
        unpack_matrix(1, all, {0, 0}, m, k);
        return unpack_matrix(2, all, {m, 0}, k, n);
      }
      case Routine::kQr: {
        const TensorHandle all = packed(KernelName::kQr, {m + k, n}, 2 * static_cast<double>(k));
        unpack_matrix(0, all, {0, 0}, m, k);
        return unpack_matrix(1, all, {m, 0}, k, n);
      }
      case Routine::kSvd: {
        const TensorHandle all = packed(KernelName::kSvd, {m + 1 + k, n}, 8 * static_cast<double>(k));
        unpack_matrix(0, all, {0, 0}, m, k);
        unpack_row(1, all, m, k);
        return unpack_matrix(2, all, {m + 1, 0}, k, n);
      }
      case Routine::kEigh: {
        const TensorHandle all = packed(KernelName::kEigh, {n + 1, n}, 9 * columns);
        unpack_row(0, all, 0, n);
        return unpack_matrix(1, all, {1, 0}, n, n);
      }
      default: TDSL_CHECK(false, "a routine of matrices");
    }
  }

 private:
  [[nodiscard]] bool is_line() const {
    return is_scan(call_.routine) || call_.routine == Routine::kSort || call_.routine == Routine::kArgsort ||
           call_.routine == Routine::kTopk || is_fourier(call_.routine);
  }
  void report() {
    caller_.gathers(name_of(call_.routine), operand(0).state().desc.name, operand_bytes(), call_.site.line);
  }

  // --- Routines along lines

  void lines(Sizes shape) {
    switch (call_.routine) {
      case Routine::kCumsum:
      case Routine::kCumprod:
      case Routine::kCummax:
      case Routine::kCummin: return along(0, element(), KernelName::kScan, name_of(call_.routine), shape, 2);
      case Routine::kSort: return along(0, element(), KernelName::kSort, "sort", shape, kSortFlops);
      case Routine::kArgsort: return along(0, ElementType::kI64, KernelName::kArgsort, "argsort", shape, kSortFlops);
      case Routine::kFft:
      case Routine::kIfft:
      case Routine::kRfft:
      case Routine::kIrfft: return fourier(std::move(shape));
      default:
        shape[static_cast<std::size_t>(call_.axis)] = call_.count;
        along(0, element(), KernelName::kTopkValues, "topk_values", shape, kSortFlops);
        return along(1, ElementType::kI64, KernelName::kTopkPositions, "topk_positions", shape, kSortFlops);
    }
  }

  void fourier(Sizes shape) {
    Index& length = shape[static_cast<std::size_t>(call_.axis)];
    const Index n = call_.routine == Routine::kIrfft ? call_.count : length;
    // 5 log2 n for each of n complex elements, half of that for each of n reals.
    const double flops = 2 * std::ceil(2.5 * std::log2(static_cast<double>(std::max<Index>(n, 1))));
    numbers_ = {call_.axis, static_cast<Index>(call_.scale), n};
    switch (call_.routine) {
      case Routine::kFft: return along(0, element(), KernelName::kFft, "fft", shape, flops);
      case Routine::kIfft: return along(0, element(), KernelName::kIfft, "ifft", shape, flops);
      case Routine::kRfft:
        length = n / 2 + 1;
        return along(0, complex_type(element()), KernelName::kRfft, "rfft", shape, flops);
      default: length = n; return along(0, part_type(element()), KernelName::kIrfft, "irfft", shape, flops / 2);
    }
  }

  void along(std::size_t k, ElementType type, KernelName kernel, std::string_view otherwise, const Sizes& shape,
             double flops) {
    if (!result(k).wanted) return;
    OpBuilder line = op(OpClass::kMap, name(k, otherwise), first_ + static_cast<int>(k));
    std::vector<plan::DimAccess> dims;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      line.out(std::string(1, static_cast<char>('i' + d)), shape[d]);
      const bool whole = d == static_cast<std::size_t>(call_.axis);
      if (whole) line.uncut();
      dims.push_back(whole ? plan::whole() : at(static_cast<int>(d)));
    }
    line.read(operand(0).id(), std::move(dims)).flops(flops);
    result(k).tensor = compute(line, type, kernel, numbers_);
  }

  // --- Routines on matrices

  [[nodiscard]] Sizes solution_shape(Index columns) {
    Sizes shape = operand(1).state().desc.shape;
    shape[0] = columns;
    return shape;
  }

  /// A single task; its operands are read whole and released.
  TensorHandle one_task(std::string_view name, KernelName kernel, const Sizes& shape, double flops) {
    OpBuilder task = op(OpClass::kMap, name, first_);
    for (std::size_t d = 0; d < shape.size(); ++d)
      task.out(std::string(1, static_cast<char>('i' + d)), shape[d]).uncut();
    for (const TensorHandle& t : call_.operands)
      task.read(t.id(), std::vector<plan::DimAccess>(t.state().desc.shape.size(), plan::whole()));
    task.flops(flops);
    TensorHandle made = compute(task, element(), kernel);
    release_operands();
    return made;
  }
  void one(KernelName kernel, const Sizes& shape, double flops) {
    result(0).tensor = one_task(name(0, name_of(call_.routine)), kernel, shape, flops);
  }

  /// Several results packed in one output, see kernels/matrix.h.
  TensorHandle packed(KernelName kernel, const Sizes& shape, double flops) {
    const std::string& operand_name = operand(0).state().desc.name;
    const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    const bool short_name = operand_name.size() <= 16 && std::ranges::all_of(operand_name, plain);
    return one_task(std::string(name_of(call_.routine)) + "_of_" + (short_name ? operand_name : "operand"), kernel,
                    shape, flops);
  }

  [[nodiscard]] int place_of(std::size_t k) const { return first_ + 1 + static_cast<int>(k); }

  void unpack_matrix(std::size_t k, const TensorHandle& all, Corner corner, Index rows, Index columns) {
    if (result(k).wanted) result(k).tensor = part(place_of(k), name(k, "part"), rows, columns, all, corner);
  }
  /// A vector stored as a row of `all`.
  void unpack_row(std::size_t k, const TensorHandle& all, Index row, Index size) {
    if (!result(k).wanted) return;
    OpBuilder copy = op(OpClass::kMap, name(k, "part"), place_of(k));
    copy.out("i", size).read(all.id(), {fixed(row, row + 1), at(0)}).flops(0).divisible();
    result(k).tensor = compute(copy, element(), KernelName::kRow, {row});
  }
  /// Row numbers stored as a column of `all`.
  void unpack_rows(std::size_t k, const TensorHandle& all, Index size, Index column) {
    if (!result(k).wanted) return;
    OpBuilder copy = op(OpClass::kMap, name(k, "rows"), place_of(k));
    copy.out("i", size).read(all.id(), {at(0), fixed(column, column + 1)}).flops(0).divisible();
    result(k).tensor = compute(copy, ElementType::kI64, KernelName::kRowNumbers, {column});
  }

  int first_;
  Sizes numbers_ = {call_.axis, scan_number(call_.routine)};  ///< of kernels of lines
};

}  // namespace

void on_one_rank(Caller& caller, Call& call, int first) { OneRank(caller, call, first).run(); }

}  // namespace tdsl::rt::routines
