#include "runtime/real_types.h"
#include "runtime/routines/algorithms/routine.h"
#include "runtime/routines/kernels/line.h"
#include "runtime/routines/kernels/make.h"
#include "runtime/routines/kernels/partition.h"

namespace tdsl::rt::routines {

namespace {

/// The kernel of a scan with the combining function `f`.
template <class T, class F>
Kernel scan_kernel_with(KernelName name, int axis, const std::vector<Index>& n, const F& f) {
  switch (name) {
    case KernelName::kScan: return kernels::scan<T>(axis, f);
    case KernelName::kTotalsBefore: return kernels::totals_before<T>(axis, f);
    case KernelName::kBlockTotals: return kernels::block_totals<T>(axis, n[1], f);
    default: return kernels::block_scan<T>(axis, n[1], f);
  }
}

template <class T>
Kernel scan_kernel(KernelName name, int axis, const std::vector<Index>& n) {
  const auto routine = static_cast<Routine>(n.back());
  const auto with = [&](const auto& f) { return scan_kernel_with<T>(name, axis, n, f); };
  if constexpr (!kIsComplex<T>) {
    if (routine == Routine::kCummax) return with([](T a, T b) { return scalar::max(a, b); });
    if (routine == Routine::kCummin) return with([](T a, T b) { return scalar::min(a, b); });
  }
  if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, std::int32_t>) {
    if (routine == Routine::kCumsum) return with([](T a, T b) { return scalar::add(a, b); });
    return with([](T a, T b) { return scalar::multiply(a, b); });
  }
  TDSL_CHECK(false, "a scan of numbers");
}

template <class T>
Kernel line_kernel(KernelName name, const std::vector<Index>& n) {
  const int axis = n.empty() ? 0 : static_cast<int>(n[0]);
  switch (name) {
    case KernelName::kScan:
    case KernelName::kTotalsBefore:
    case KernelName::kBlockTotals:
    case KernelName::kBlockScan: return scan_kernel<T>(name, axis, n);
    case KernelName::kSort: return kernels::sort<T>(axis);
    case KernelName::kArgsort: return kernels::argsort<T>(axis);
    case KernelName::kTopkValues: return kernels::topk_values<T>(axis);
    case KernelName::kTopkPositions: return kernels::topk_positions<T>(axis);
    case KernelName::kPaddedBlocks: return kernels::padded_blocks<T>(n[0], n[1]);
    case KernelName::kInOneRow: return kernels::in_one_row<T>(n[0]);
    case KernelName::kOrigins: return kernels::origins(n[0], n[1]);
    case KernelName::kPick: return kernels::pick();
    default: TDSL_CHECK(false, "a kernel of lines");
  }
}

}  // namespace

Kernel make_line_kernel(const KernelCall& call, SourceLine) {
  switch (call.name) {
    case KernelName::kBlockCounts: return kernels::block_counts(call.numbers[0]);
    case KernelName::kCountsBefore: return kernels::counts_before();
    case KernelName::kTruesFirst: return kernels::trues_first();
    case KernelName::kPlaces: return kernels::places(call.numbers[0]);
    case KernelName::kFilter:
      return visit_element_type(call.type, [&](auto tag) {
        return kernels::filter<typename decltype(tag)::type>(static_cast<int>(call.numbers[0]), call.numbers[1]);
      });
    default: break;
  }
  const int axis = call.numbers.empty() ? 0 : static_cast<int>(call.numbers[0]);
  // Scans are the only kernels of lines that need no order.
  if (call.type == ElementType::kC64) return scan_kernel<Complex<float>>(call.name, axis, call.numbers);
  if (call.type == ElementType::kC128) return scan_kernel<Complex<double>>(call.name, axis, call.numbers);
  return visit_real_type(call.type, "a routine",
                         [&](auto tag) { return line_kernel<typename decltype(tag)::type>(call.name, call.numbers); });
}

}  // namespace tdsl::rt::routines
