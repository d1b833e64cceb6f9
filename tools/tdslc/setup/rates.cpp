#include "tools/tdslc/setup/rates.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "runtime/kernels/product/blas_call.h"
#include "runtime/kernels/product/contraction.h"
#include "runtime/plan/cost/machine.h"
#include "runtime/plan/op_builder.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/setup/measured_program.h"

namespace tdsl::tools {

namespace {

/// A polynomial of degree 12 of each element of a vector that stays in cache.
constexpr const char* kLoops = R"(param steps: i64 = 200;
var x = f64(iota(8192)) / 8192.0;
for k in 0..steps {
  x = (((((((((((x * 0.01 + 0.02) * x + 0.03) * x + 0.04) * x + 0.05) * x + 0.06) * x + 0.07) * x + 0.08) * x + 0.07)
      * x + 0.06) * x + 0.05) * x + 0.04) * x + 0.3;
}
output c = sum(x);
)";
/// The line on which the loop's statement begins.
constexpr int kLoopLine = 4;

/// Bytes of a processor's last-level cache; 0 if the system does not tell.
double last_cache() {
#ifdef _SC_LEVEL3_CACHE_SIZE
  return static_cast<double>(std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE)));
#else
  return 0;
#endif
}

double seconds_of(const std::function<void()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The minimum over `times` runs, which suppresses noise.
double best_of(int times, const std::function<void()>& f) {
  double best = seconds_of(f);
  for (int k = 1; k < times; ++k) best = std::min(best, seconds_of(f));
  return best;
}

rt::Operand operand(std::vector<double>& data, std::int64_t n) {
  rt::Operand o;
  o.data = reinterpret_cast<std::byte*>(data.data());
  o.box.rank = 2;
  o.box[0] = o.box[1] = {0, n};
  o.stride[0] = n;
  o.stride[1] = 1;
  return o;
}

constexpr std::int64_t kEdge = 768;

/// Flops per second in the GEMM used by programs.
double measure_product() {
  constexpr std::int64_t n = kEdge;
  plan::OpBuilder op(plan::OpClass::kContraction, "C", 1, 0);
  op.out("i", n).out("j", n).reduce("k", n).read(0, {plan::at(0), plan::at(2)}).read(1, {plan::at(2), plan::at(1)});
  op.combine(plan::Combine::kSum).flops(2);
  const rt::Kernel kernel = rt::contraction_kernel(std::make_shared<const plan::Op>(op.op()), rt::ElementType::kF64);
  std::vector<double> a(n * n, 1.0), b(n * n, 2.0), c(n * n, 0.0);
  const std::vector<rt::Operand> inputs = {operand(a, n), operand(b, n)};
  const std::vector<rt::Operand> outputs = {operand(c, n)};
  const std::vector<plan::Interval> labels(3, {0, n});
  rt::TaskArgs args;
  args.labels = labels;
  args.inputs = inputs;
  args.outputs = outputs;
  args.out_box = outputs[0].box;
  return 2.0 * n * n * n / best_of(5, [&] { kernel(args); });
}

/// The same in blocks of rows, as in nests over rows (runtime/kernels/rows.h), without the seconds in which further
/// blocks pack the other operand: plans add those (plan::seconds_to_pack).
double measure_row_product(const plan::Machine& machine) {
  constexpr std::int64_t n = kEdge, block = 128;
  std::vector<double> a(n * n, 1.0), b(n * n, 2.0), c(n * n, 0.0);
  const double best = best_of(5, [&] {
    for (std::int64_t i = 0; i < n; i += block)
      rt::blas::gemm<double>(block, n, n, {a.data() + i * n, n, 1}, {b.data(), n, 1}, false, {c.data() + i * n, n, 1});
  });
  const double flops = 2.0 * n * n * n;
  const double packing = (n / block - 1) * plan::seconds_to_pack(8.0 * n * n, machine);
  return flops / std::max(best - packing, flops / machine.flop_rate);
}

/// Bytes per second in a[i] = b[i] + s * c[i].
double measure_stream() {
  constexpr std::size_t n = std::size_t{1} << 23;
  std::vector<double> a(n, 0.0), b(n, 1.0), c(n, 2.0);
  const double best = best_of(5, [&] {
    for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + 3.0 * c[i];
  });
  return 3.0 * static_cast<double>(n) * sizeof(double) / best;
}

/// Flops per second of the loop's kernels.
double measure_loop() {
  MeasuredProgram program("loops", kLoops, "c", {"serial_loops"});  // otherwise the loop would be a single task
  double best = 0;
  for (int k = 0; k < 3; ++k) {
    const nlohmann::json told = program.run(1, {}, "");
    for (const auto& statement : told.at("statements")) {
      if (statement.at("line").get<int>() != kLoopLine) continue;
      const auto& measured = statement.at("measured");
      const auto seconds = measured.at("kernel_seconds").get<double>();
      if (seconds > 0) best = std::max(best, measured.at("flops").get<double>() / seconds);
    }
  }
  if (best == 0) throw std::runtime_error("a program of loops reports no operations");
  return best;
}

}  // namespace

KernelRates measure_rates() {
  KernelRates rates;
  rt::blas::prepare();
  rates.product = measure_product();
  rates.stream = measure_stream();
  rates.last_cache = last_cache();
  plan::Machine machine;
  machine.flop_rate = rates.product;
  machine.stream_rate = rates.stream;
  if (rates.last_cache > 0) machine.last_cache = rates.last_cache;
  rates.row_product = measure_row_product(machine);
  try {
    rates.loop = measure_loop();
  } catch (const ProgramErrors&) {
    rates.trouble = "a program of loops does not compile";
  } catch (const std::exception& error) { rates.trouble = error.what(); }
  return rates;
}

}  // namespace tdsl::tools
