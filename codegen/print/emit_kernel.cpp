#include "codegen/print/emit_kernel.h"

#include <algorithm>

#include "codegen/loops/blocking.h"
#include "codegen/loops/build_nest.h"
#include "codegen/loops/loop_order.h"
#include "codegen/nest/interior.h"
#include "codegen/nest/verify.h"
#include "codegen/print/nests/print_cpp.h"

namespace tdsl::codegen {

namespace {

using ir::Monoid;

/// Operations per byte above which a kernel is bound by arithmetic, not by memory.
constexpr double kFlopsPerByte = 4;

BuiltNest verified_nest(const KernelRequest& r) {
  BuiltNest built = build_nest({r.program, r.name, r.place, r.value_name}, r.step);
  nest::require_valid(built.nest);
  nest::split_interiors(built.nest);
  nest::require_valid(built.nest);
  return built;
}

/// The widest vectors that make the kernel faster. Memory-bound loops gain nothing from AVX-512.
rt::SimdLevel widest(const KernelRequest& r, const BuiltNest& built, const nest::PrintedNest& printed) {
  const RecordedOp& op = *r.step.op;
  if (r.step.fused) return built.widest;
  if (!printed.vectors || (op.reads.empty() && op.flops_per_point == 0)) return rt::SimdLevel::kBaseline;
  // The operands of several lines stay in cache.
  if (printed.masks && !r.step.kernel->compute.out.empty()) return rt::SimdLevel::kAvx512;
  std::int64_t bytes = ir::size_of(r.step.kernel->type);
  for (const SymbolicAccess& read : op.reads) bytes += ir::size_of(r.program.type(read.tensor).scalar);
  const bool busy = printed.calls_library || op.flops_per_point > kFlopsPerByte * static_cast<double>(bytes);
  return busy ? rt::SimdLevel::kAvx512 : rt::SimdLevel::kAvx2;
}

std::vector<ValueId> captures_of(const BuiltNest& built, const nest::PrintedNest& printed) {
  std::vector<ValueId> values;
  for (const ValueId v : printed.captures) values.push_back(built.captured[static_cast<std::size_t>(v.id)]);
  return values;
}

/// True if the kernel may be one expression: an assignment to every point, or a reduction.
bool may_be_short(const RecordedOp& op, const ComputeKernel& kernel) {
  const ir::Compute& compute = kernel.compute;
  if (compute.iteration || compute.combine || !compute.left.empty() || op.has_base() || !kernel.gathers.empty() ||
      !kernel.scattered.empty())
    return false;
  if (!compute.monoid) return !compute.guard;
  const bool from_zero = std::ranges::all_of(compute.out, [](const ir::Label& l) { return l.begin == Extent(0); });
  return from_zero && !blocking(op, kernel);
}

/// `rt::sum_simd`
std::string loops_of(const nest::PrintedPoint& p) {
  std::string_view name = "each";
  if (p.reduces) {
    name = *p.reduces == Monoid::Kind::kMin   ? "least"
           : *p.reduces == Monoid::Kind::kMax ? "greatest"
                                              : ir::name_of(*p.reduces);
  }
  return fmt::format("rt::{}{}", name, p.vectors ? "_simd" : "");
}

}  // namespace

EmittedKernel emit_kernel(const KernelRequest& request) {
  const BuiltNest built = verified_nest(request);
  const nest::PrintedNest printed = nest::print_function(built.nest, request.procedure_name);
  return {printed.text, captures_of(built, printed), printed.needs, widest(request, built, printed)};
}

std::optional<ShortKernel> short_kernel(const KernelRequest& request) {
  const RecordedOp& op = *request.step.op;
  if (!may_be_short(op, *request.step.kernel)) return std::nullopt;
  const BuiltNest built = verified_nest(request);
  const std::optional<nest::PrintedPoint> p = nest::print_point(built.nest, request.procedure_name);
  if (!p) return std::nullopt;
  const ir::Type& type = request.program.type(request.step.target);
  const std::string output = fmt::format("{}, {}", cpp_type(request.step.kernel->type), type.rank());
  if (p->constant)
    return ShortKernel{p->captures.empty() ? *p->constant : "", "", output, rt::SimdLevel::kBaseline,
                       captures_of(built, *p)};
  const int across =
      p->reduces || p->vectors || op.labels.size() < 2 ? -1 : label_across(op, static_cast<int>(op.labels.size()) - 1);
  if (across >= 0)
    return ShortKernel{p->text, "rt::each_in_squares", std::to_string(across), widest(request, built, *p),
                       captures_of(built, *p)};
  return ShortKernel{p->text, loops_of(*p), p->reduces ? output : "", widest(request, built, *p),
                     captures_of(built, *p)};
}

}  // namespace tdsl::codegen
