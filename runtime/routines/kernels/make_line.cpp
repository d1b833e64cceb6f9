#include "runtime/real_types.h"
#include "runtime/routines/kernels/line.h"
#include "runtime/routines/kernels/make.h"

namespace tdsl::rt::routines {

namespace {

template <class T>
Kernel line_kernel(KernelName name, const std::vector<Index>& n) {
  const int axis = n.empty() ? 0 : static_cast<int>(n[0]);
  if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, std::int32_t>) {
    switch (name) {
      case KernelName::kCumsum: return kernels::cumsum<T>(axis);
      case KernelName::kBlockSums: return kernels::block_sums<T>(axis, n[1]);
      case KernelName::kExclusiveSums: return kernels::exclusive_sums<T>(axis);
      case KernelName::kBlockCumsum: return kernels::block_cumsum<T>(axis, n[1]);
      default: break;
    }
  }
  switch (name) {
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
  return visit_real_type(call.type, "a routine",
                         [&](auto tag) { return line_kernel<typename decltype(tag)::type>(call.name, call.numbers); });
}

}  // namespace tdsl::rt::routines
