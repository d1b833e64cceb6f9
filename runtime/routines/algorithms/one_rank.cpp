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
    if (is_line(call_.routine)) {
      if (shape.size() == 1) report();
      lines(shape);
      return release_operands();
    }
    batch_ = static_cast<int>(shape.size()) - 2;
    if (batch_ == 0) report();
    leading_ = batch_extents();
    const Index m = shape[shape.size() - 2];
    const Index n = shape.back();
    const Index k = std::min(m, n);
    const double rows = static_cast<double>(m);
    const double columns = static_cast<double>(n);
    switch (call_.routine) {
      case Routine::kCholesky: return one(KernelName::kCholesky, {m, n}, columns / 3);
      case Routine::kInv: return one(KernelName::kInverse, {m, n}, 2 * columns);
      case Routine::kDet: return one(KernelName::kDeterminant, {}, 2.0 / 3 * (rows * rows * rows));
      case Routine::kSolve:
        return one(KernelName::kSolve, solution_shape(n), solve_flops(columns), {static_cast<Index>(call_.solves)});
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
      case Routine::kEigh:
      case Routine::kEig: {
        const bool general = call_.routine == Routine::kEig;
        const TensorHandle all =
            packed(general ? KernelName::kEig : KernelName::kEigh, {n + 1, n}, (general ? 25 : 9) * columns);
        unpack_row(0, all, 0, n);
        return unpack_matrix(1, all, {1, 0}, n, n);
      }
      default: TDSL_CHECK(false, "a routine of matrices");
    }
  }

 private:
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
    const bool of_reals = !is_complex(element());
    const ElementType type = complex_type(part_type(element()));
    numbers_ = {call_.axis, static_cast<Index>(call_.scale), n, of_reals ? 1 : 0};
    switch (call_.routine) {
      case Routine::kFft: return along(0, type, KernelName::kFft, "fft", shape, of_reals ? flops / 2 : flops);
      case Routine::kIfft: return along(0, type, KernelName::kIfft, "ifft", shape, of_reals ? flops / 2 : flops);
      case Routine::kRfft: length = n / 2 + 1; return along(0, type, KernelName::kRfft, "rfft", shape, flops);
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

  /// The leading extents of results. An extent of 1 serves all matrices of the other operand.
  [[nodiscard]] Sizes batch_extents() {
    Sizes extents;
    for (int d = 0; d < batch_; ++d) {
      Index extent = operand(0).extent(d);
      if (extent == 1 && call_.operands.size() > 1) extent = operand(1).extent(d);
      extents.push_back(extent);
    }
    return extents;
  }

  /// The right side's shape, for one matrix, with one row for each unknown.
  [[nodiscard]] Sizes solution_shape(Index unknowns) {
    const Sizes& right = operand(1).state().desc.shape;
    Sizes shape(right.begin() + batch_, right.end());
    shape[0] = unknowns;
    return shape;
  }

  /// Per element of the solution, as if there were few columns.
  [[nodiscard]] double solve_flops(double n) const {
    switch (call_.solves) {
      case SolveKind::kGeneral: return 2.0 / 3 * (n * n);
      case SolveKind::kPositive: return 1.0 / 3 * (n * n);
      default: return n;
    }
  }

  [[nodiscard]] static std::string label(std::size_t d) { return std::string(1, static_cast<char>('i' + d)); }

  /// Labels of the batch; the matrices of a block are complete.
  void batch_labels(OpBuilder& task) const {
    for (std::size_t d = 0; d < leading_.size(); ++d) task.out(label(d), leading_[d]);
  }
  [[nodiscard]] std::vector<DimAccess> batch_access(const TensorHandle& t) const {
    std::vector<DimAccess> dims;
    for (int d = 0; d < batch_; ++d)
      dims.push_back(t.extent(d) == leading_[static_cast<std::size_t>(d)] ? at(d) : fixed(0, 1));
    return dims;
  }

  /// A task per block of the batch, so one if there is none; its operands are released. `shape`: of a matrix's result.
  TensorHandle one_task(std::string_view name, KernelName kernel, const Sizes& shape, double flops,
                        const Sizes& numbers = {}) {
    OpBuilder task = op(OpClass::kMap, name, first_);
    batch_labels(task);
    for (std::size_t d = 0; d < shape.size(); ++d) task.out(label(leading_.size() + d), shape[d]).uncut();
    for (const TensorHandle& t : call_.operands) {
      std::vector<DimAccess> dims = batch_access(t);
      dims.resize(t.state().desc.shape.size(), whole());
      task.read(t.id(), std::move(dims));
    }
    task.flops(flops);
    TensorHandle made = compute(task, element(), kernel, numbers);
    release_operands();
    return made;
  }
  void one(KernelName kernel, const Sizes& shape, double flops, const Sizes& numbers = {}) {
    result(0).tensor = one_task(name(0, name_of(call_.routine)), kernel, shape, flops, numbers);
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

  /// Result number k, of that shape per matrix, copied from `all`, where `dims` are the subscripts of a matrix's part.
  void unpack(std::size_t k, const TensorHandle& all, const Sizes& shape, std::vector<DimAccess> dims, ElementType type,
              KernelName kernel, const Sizes& numbers, std::string_view otherwise) {
    if (!result(k).wanted) return;
    OpBuilder copy = op(OpClass::kMap, name(k, otherwise), place_of(k));
    batch_labels(copy);
    for (std::size_t d = 0; d < shape.size(); ++d) copy.out(label(leading_.size() + d), shape[d]);
    std::vector<DimAccess> access = batch_access(all);
    access.insert(access.end(), dims.begin(), dims.end());
    copy.read(all.id(), std::move(access)).flops(0).divisible();
    result(k).tensor = compute(copy, type, kernel, numbers);
  }

  void unpack_matrix(std::size_t k, const TensorHandle& all, Corner corner, Index rows, Index columns) {
    unpack(k, all, {rows, columns}, {at(batch_, corner.row), at(batch_ + 1, corner.column)}, element(),
           KernelName::kMove, {0, 0, corner.row, corner.column}, "part");
  }
  /// A vector stored as a row of `all`.
  void unpack_row(std::size_t k, const TensorHandle& all, Index row, Index size) {
    unpack(k, all, {size}, {fixed(row, row + 1), at(batch_)}, element(), KernelName::kRow, {row}, "part");
  }
  /// Row numbers stored as a column of `all`.
  void unpack_rows(std::size_t k, const TensorHandle& all, Index size, Index column) {
    unpack(k, all, {size}, {at(batch_), fixed(column, column + 1)}, ElementType::kI64, KernelName::kRowNumbers,
           {column}, "rows");
  }

  int first_;
  Sizes leading_;                                             ///< extents of the batch
  Sizes numbers_ = {call_.axis, scan_number(call_.routine)};  ///< of kernels of lines
};

}  // namespace

void on_one_rank(Caller& caller, Call& call, int first) { OneRank(caller, call, first).run(); }

}  // namespace tdsl::rt::routines
