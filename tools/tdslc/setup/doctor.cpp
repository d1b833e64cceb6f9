#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/app/memory/spill.h"
#include "runtime/base/environment.h"
#include "runtime/disk/disk_rates.h"
#include "runtime/io/text_file.h"
#include "runtime/kernels/product/blas_call.h"
#include "runtime/kernels/product/contraction.h"
#include "runtime/plan/op_builder.h"
#include "runtime/plan/planner.h"
#include "tools/build/cache.h"
#include "tools/build/output_file.h"
#include "tools/build/process.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/setup/installation.h"
#include "tools/tdslc/setup/launcher.h"
#include "tools/tdslc/setup/overheads.h"
#include "tools/tdslc/submit/site_file.h"

namespace tdsl::tools {

namespace {

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

/// Flops per second of one thread in the GEMM used by programs.
double measure_gemm() {
  constexpr std::int64_t n = 768;
  rt::blas::prepare();
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

/// Bytes per second of one thread in a[i] = b[i] + s * c[i].
double measure_stream() {
  constexpr std::size_t n = std::size_t{1} << 23;
  std::vector<double> a(n, 0.0), b(n, 1.0), c(n, 2.0);
  const double best = best_of(5, [&] {
    for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + 3.0 * c[i];
  });
  return 3.0 * static_cast<double>(n) * sizeof(double) / best;
}

/// Bytes of the last-level cache of a processor; `otherwise` if the system does not tell.
double last_cache(double otherwise) {
#ifdef _SC_LEVEL3_CACHE_SIZE
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (bytes > 0) return static_cast<double>(bytes);
#endif
  return otherwise;
}

/// Latency and bandwidth between two ranks, or why they could not be measured.
struct Link {
  double latency = 0;
  double bandwidth = 0;
  std::string trouble;
};

/// Measures between two local ranks, or on `hosts`.
Link measure_link(const std::string& hosts) {
  try {
    const codegen::Toolchain toolchain = codegen::read_toolchain(codegen::find_prefix());
    const bool elsewhere = !hosts.empty() || other_hosts();
    std::vector<std::string> command = launcher_command(toolchain, 2, elsewhere);
    if (!hosts.empty())
      command.insert(command.end(), {rank_launcher(toolchain).family == "mpich" ? "-hosts" : "--host", hosts});
    command.push_back(toolchain.prefix + "/lib/tdsl/tdsl_links");
    codegen::WorkFolder session(session_folders(elsewhere));
    std::string told;
    codegen::ProcessRequest request{
        .command = command, .environment = session_variables(session), .folder = &session, .launcher = true};
    request.receive = [&](std::string_view text) {
      told += text;
      return true;
    };
    const codegen::ProcessResult result = codegen::run_process(request);
    if (result.exit_code != 0)
      return {0, 0, fmt::format("`{}` ended with {}", fmt::join(command, " "), result.exit_code)};
    const plan::Machine m = plan::parse_machine(told);
    return {m.latency, m.bandwidth, ""};
  } catch (const std::runtime_error& error) { return {0, 0, error.what()}; }
}

/// Measures the named folder, otherwise the default spill folder of programs started here whose outputs are here.
rt::DiskRates measure_disk(const std::string& named) {
  std::vector<std::string> folders = rt::read_environment().scratch;
  folders.insert(folders.end(), {".", "/tmp"});
  const rt::SpillPlace place = rt::spill_place(named.empty() ? std::nullopt : std::optional(named), folders);
  if (!place.trouble.empty()) return {.trouble = place.trouble};
  return rt::measure_disk(place.folder, place.insisted);
}

/// Known network constants: from the file about to be overwritten, otherwise the built-in ones. Throws RunError if the
/// file cannot be written.
plan::Machine known_before(const std::string& file) {
  if (::access(file.c_str(), F_OK) != 0) return {};
  const std::string text = rt::read_text_file(file);
  try {
    return plan::parse_machine(text);
  } catch (const std::runtime_error&) { return {}; }
}

/// Measurements of links, disk and small steps, in addition to the constants.
struct Measured {
  Link near, far;
  rt::DiskRates disk;
  Overheads overheads;
};

plan::Machine measure(const std::string& file, const CommandLine& line, Measured& measured) {
  const plan::Machine before = known_before(file);
  plan::Machine m;
  m.flop_rate = measure_gemm();
  m.stream_rate = measure_stream();
  m.last_cache = last_cache(before.last_cache);
  measured.near = measure_link("");
  m.near_latency = measured.near.latency;
  m.near_bandwidth = measured.near.bandwidth;
  m.latency = before.latency;
  m.bandwidth = before.bandwidth;
  measured.disk = measure_disk(line.spill);
  m.disk_read_rate = measured.disk.trouble.empty() ? measured.disk.read : before.disk_read_rate;
  m.disk_write_rate = measured.disk.trouble.empty() ? measured.disk.write : before.disk_write_rate;
  m.write_call = before.write_call;
  measured.overheads = measure_overheads(measured.near.latency);
  m.task_overhead = measured.overheads.task > 0 ? measured.overheads.task : before.task_overhead;
  m.exchange_overhead = measured.overheads.exchange > 0 ? measured.overheads.exchange : before.exchange_overhead;
  if (line.hosts.empty()) return m;
  measured.far = measure_link(line.hosts);
  if (!measured.far.trouble.empty()) return m;
  m.latency = measured.far.latency;
  m.bandwidth = measured.far.bandwidth;
  return m;
}

std::string link_text(double latency, double bandwidth) {
  return fmt::format("latency {:.1f} us, bandwidth {:.2f} GB/s", latency * 1e6, bandwidth * 1e-9);
}

/// The lines about links within a node and between nodes.
std::string links_text(const plan::Machine& m, const Measured& measured, bool measured_far) {
  std::string text = "     within a node  ";
  text += measured.near.trouble.empty() ? link_text(m.near_latency, m.near_bandwidth)
                                        : "not measured: " + measured.near.trouble;
  text += "\n     between nodes  ";
  if (!measured.far.trouble.empty()) text += "not measured: " + measured.far.trouble + "; ";
  return text + link_text(m.latency, m.bandwidth) +
         (measured_far ? "\n" : " (not measured now; --hosts A,B measures it)\n");
}

std::string disk_text(const plan::Machine& m, const rt::DiskRates& disk) {
  const std::string rates =
      fmt::format("reads {:.2f} GB/s, writes {:.2f} GB/s", m.disk_read_rate * 1e-9, m.disk_write_rate * 1e-9);
  if (!disk.trouble.empty()) return fmt::format("     disk           {} (not measured now: {})\n", rates, disk.trouble);
  return fmt::format("     disk           {} in {}{}\n", rates, disk.folder,
                     disk.direct ? "" : ", which cannot pass by the system's cache");
}

std::string overheads_text(const plan::Machine& m, const std::string& trouble) {
  const std::string overheads = fmt::format("     small steps    a task {:.1f} us, an exchange {:.1f} us",
                                            m.task_overhead * 1e6, m.exchange_overhead * 1e6);
  return overheads + (trouble.empty() ? "\n" : fmt::format(" (not measured now: {})\n", trouble));
}

}  // namespace

int doctor(const CommandLine& line) {
  if (line.check_site) return doctor_site(line);
  if (!line.output.empty()) throw UsageError("doctor: -o goes with --site");
  if (!line.hosts.empty() && std::ranges::count(line.hosts, ',') != 1)
    throw UsageError("--hosts: two machines, such as node1,node2");
  const std::vector<InstalledPart> parts = installed_parts();
  const std::string file = codegen::cache_directory() + "/machine.conf";
  Measured measured;
  const plan::Machine m = measure(file, line, measured);
  const nlohmann::ordered_json constants = {{"latency", m.latency},
                                            {"bandwidth", m.bandwidth},
                                            {"near_latency", m.latency_within()},
                                            {"near_bandwidth", m.bandwidth_within()},
                                            {"flop_rate", m.flop_rate},
                                            {"stream_rate", m.stream_rate},
                                            {"last_cache", m.last_cache},
                                            {"task_overhead", m.task_overhead},
                                            {"exchange_overhead", m.exchange_overhead},
                                            {"disk_read_rate", m.disk_read_rate},
                                            {"disk_write_rate", m.disk_write_rate}};
  bool good = measured.far.trouble.empty() && (line.spill.empty() || measured.disk.trouble.empty());
  nlohmann::ordered_json found = nlohmann::ordered_json::array();
  for (const InstalledPart& part : parts) {
    good = good && (part.good || !part.needed);
    found.push_back({{"what", part.what}, {"good", part.good}, {"needed", part.needed}, {"detail", part.detail}});
    if (!part.good && !part.repair.empty()) found.back()["repair"] = part.repair;
    if (!line.json) fmt::print("{}", line_of(part));
  }
  const bool kept = has_cache(parts);
  if (kept) codegen::write_text(file, plan::machine_text(m));
  if (line.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"good", good},
                                              {"installation", found},
                                              {"cores", std::thread::hardware_concurrency()},
                                              {"machine", constants}}
                           .dump(2));
    return good ? 0 : 1;
  }
  fmt::print("     cores          {}\n", std::thread::hardware_concurrency());
  fmt::print("     matrix product {:.1f} GFLOP/s per thread\n", m.flop_rate * 1e-9);
  fmt::print("     memory stream  {:.1f} GB/s per thread\n", m.stream_rate * 1e-9);
  fmt::print("     last cache     {:.1f} MB\n", m.last_cache * 1e-6);
  fmt::print("{}", links_text(m, measured, !line.hosts.empty() && measured.far.trouble.empty()));
  fmt::print("{}", overheads_text(m, measured.overheads.trouble));
  fmt::print("{}", disk_text(m, measured.disk));
  if (kept) fmt::print("     constants      {} (programs started from now on plan with them)\n", file);
  return good ? 0 : 1;
}

}  // namespace tdsl::tools
