#include <utility>

#include "runtime/routines/batched/each_matrix.h"
#include "runtime/routines/batched/lanes.h"
#include "runtime/routines/kernels/blocked.h"
#include "runtime/routines/kernels/make.h"
#include "runtime/routines/kernels/matrix.h"
#include "runtime/routines/kernels/matrix_elements.h"
#include "runtime/routines/kernels/spectra.h"

namespace tdsl::rt::routines {

namespace {

template <class T>
Kernel matrix_kernel(KernelName name, const std::vector<Index>& n, SourceLine place) {
  using namespace kernels;  // NOLINT: kernels have the names of the calls
  switch (name) {
    case KernelName::kContraction: return nullptr;
    case KernelName::kCholesky: return kernels::cholesky<T>(place);
    case KernelName::kInverse: return inverse<T>(place);
    case KernelName::kDeterminant: return determinant<T>(place);
    case KernelName::kSolve: return kernels::solve<T>(place, static_cast<SolveKind>(n[0]));
    case KernelName::kLeastSquares: return least_squares<T>(place);
    case KernelName::kLu: return kernels::lu<T>(place);
    case KernelName::kQr: return kernels::qr<T>(place);
    case KernelName::kSvd: return kernels::svd<T>(place);
    case KernelName::kEigh: return kernels::eigh<T>(place);
    case KernelName::kTriangularRows: return triangular_rows<T>();
    case KernelName::kForwardColumns: return forward_columns<T>();
    case KernelName::kBackwardColumns: return backward_columns<T>();
    case KernelName::kLuPanel: return lu_panel<T>(place, n[0], n[1] != 0);
    case KernelName::kBlockR: return block_r<T>(n[0]);
    case KernelName::kBlockQ: return block_q<T>(n[0]);
    case KernelName::kMove: return kernels::move<T>(n[0], n[1], n[2], n[3]);
    case KernelName::kNegate: return kernels::negate<T>();
    case KernelName::kZeros: return zeros<T>();
    case KernelName::kZerosAbove: return zeros_above<T>();
    case KernelName::kUnitLower: return unit_lower<T>();
    case KernelName::kUpper: return upper<T>();
    case KernelName::kBeside: return beside<T>(n[0]);
    case KernelName::kFirstColumn: return first_column<T>();
    case KernelName::kRow: return row<T>(n[0]);
    case KernelName::kCount: return kernels::count();
    case KernelName::kCopyRows: return copy_rows();
    case KernelName::kRowNumbers: return row_numbers<T>(n[0]);
    case KernelName::kPickRows: return pick_rows<T>(n[0], n[1]);
    case KernelName::kNegativeFactors: return negative_factors<T>(n[0], n[1]);
    case KernelName::kLast: return last<T>(n[0]);
    case KernelName::kLastTransposed: return last_transposed<T>(n[0]);
    case KernelName::kDistanceFromUnit: return distance_from_unit<T>(n[0]);
    case KernelName::kProductOfLast: return product_of_last<T>(n[0]);
    default: TDSL_CHECK(false, "a kernel of matrices");
  }
}

/// Kernels of complex matrices; the other routines take the real form of a complex matrix.
template <class T>
Kernel complex_kernel(KernelName name, const std::vector<Index>& n, SourceLine place) {
  using namespace kernels;  // NOLINT: kernels have the names of the calls
  switch (name) {
    case KernelName::kContraction: return nullptr;
    case KernelName::kInverse: return inverse<T>(place);
    case KernelName::kDeterminant: return determinant<T>(place);
    case KernelName::kLu: return kernels::lu<T>(place);
    case KernelName::kSvd: return kernels::svd<T>(place);
    case KernelName::kEigh: return kernels::eigh<T>(place);
    case KernelName::kEig: return kernels::eig<T>(place);
    case KernelName::kForwardColumns: return forward_columns<T>();
    case KernelName::kLuPanel: return lu_panel<T>(place, n[0], n[1] != 0);
    case KernelName::kMove: return kernels::move<T>(n[0], n[1], n[2], n[3]);
    case KernelName::kUnitLower: return unit_lower<T>();
    case KernelName::kUpper: return upper<T>();
    case KernelName::kRow: return row<T>(n[0]);
    case KernelName::kCount: return kernels::count();
    case KernelName::kCopyRows: return copy_rows();
    case KernelName::kRowNumbers: return row_numbers<T>(n[0]);
    case KernelName::kPickRows: return pick_rows<T>(n[0], n[1]);
    case KernelName::kNegativeFactors: return negative_factors<T>(n[0], n[1]);
    default: TDSL_CHECK(false, "a kernel of complex matrices");
  }
}

/// The kernel of `one` matrix for each matrix of a batch.
template <class T>
Kernel each_kernel(const KernelCall& call, Kernel one) {
  const bool counts = call.name == KernelName::kRowNumbers;
  return kernels::each_matrix(std::move(one), call.batch, sizeof(T), counts ? sizeof(std::int64_t) : sizeof(T));
}

/// The same; small matrices have their own for some routines.
template <class T>
Kernel batched_kernel(const KernelCall& call, SourceLine place, Kernel one) {
  Kernel each = each_kernel<T>(call, std::move(one));
  const kernels::Batched batched = {call.batch, place, each};
  switch (call.name) {
    case KernelName::kSolve: return kernels::solve_in_lanes<T>(batched, static_cast<SolveKind>(call.numbers[0]));
    case KernelName::kInverse: return kernels::inverse_in_lanes<T>(batched);
    case KernelName::kDeterminant: return kernels::determinant_in_lanes<T>(batched);
    case KernelName::kCholesky: return kernels::cholesky_in_lanes<T>(batched);
    default: return each;
  }
}

template <class T>
Kernel kernel_of(const KernelCall& call, SourceLine place) {
  Kernel one = matrix_kernel<T>(call.name, call.numbers, place);
  return call.batch == 0 ? one : batched_kernel<T>(call, place, std::move(one));
}

template <class T>
Kernel complex_kernel_of(const KernelCall& call, SourceLine place) {
  Kernel one = complex_kernel<T>(call.name, call.numbers, place);
  return call.batch == 0 ? one : each_kernel<T>(call, std::move(one));
}

}  // namespace

Kernel make_matrix_kernel(const KernelCall& call, SourceLine place) {
  switch (call.type) {
    case ElementType::kF32: return kernel_of<float>(call, place);
    case ElementType::kF64: return kernel_of<double>(call, place);
    case ElementType::kC64: return complex_kernel_of<Complex<float>>(call, place);
    case ElementType::kC128: return complex_kernel_of<Complex<double>>(call, place);
    default: TDSL_CHECK(false, "matrices of floats");
  }
}

}  // namespace tdsl::rt::routines
