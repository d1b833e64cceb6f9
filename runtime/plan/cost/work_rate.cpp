#include "runtime/plan/cost/work_rate.h"

#include <algorithm>
#include <cmath>

namespace tdsl::plan {

namespace {

/// Flop rate of emitted loops as a fraction of the BLAS rate.
constexpr double kLoopRate = 0.2;
/// Rows of a block around a product (runtime/kernels/rows.h).
constexpr double kBlockRows = 128;

}  // namespace

double seconds_of_flops(const Op& op, double flops, const Machine& machine) {
  const double blas = op.op_class == OpClass::kContraction ? 1.0 : op.product_share;
  return flops * (blas + (1 - blas) / kLoopRate) / machine.flop_rate;
}

double reads_of_shared(const Op& op, double points) {
  double row = 1;
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    if (op.is_uncut(d)) row *= static_cast<double>(std::max<Index>(op.shape[d], 1));
  }
  return std::max(1.0, std::ceil(points / row / kBlockRows));
}

bool is_shared(const Access& access) {
  return !access.dims.empty() && std::all_of(access.dims.begin(), access.dims.end(),
                                             [](const DimAccess& d) { return d.whole || d.terms.empty(); });
}

}  // namespace tdsl::plan
