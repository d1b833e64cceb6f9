#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/app/memory/spill.h"
#include "runtime/base/environment.h"
#include "runtime/disk/disk_rates.h"
#include "runtime/io/text_file.h"
#include "runtime/plan/planner.h"
#include "tools/build/cache.h"
#include "tools/build/output_file.h"
#include "tools/build/process.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/setup/installation.h"
#include "tools/tdslc/setup/launcher.h"
#include "tools/tdslc/setup/overheads.h"
#include "tools/tdslc/setup/rates.h"
#include "tools/tdslc/submit/site_file.h"

namespace tdsl::tools {

namespace {

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

/// Measurements of kernels, links, disk and small steps, in addition to the constants.
struct Measured {
  Link near, far;
  rt::DiskRates disk;
  Overheads overheads;
  KernelRates rates;
};

plan::Machine measure(const std::string& file, const CommandLine& line, Measured& measured) {
  const plan::Machine before = known_before(file);
  plan::Machine m;
  measured.rates = measure_rates();
  m.flop_rate = measured.rates.product;
  m.row_product_rate = measured.rates.row_product;
  m.loop_rate = measured.rates.loop > 0 ? measured.rates.loop : before.loop_rate;
  m.stream_rate = measured.rates.stream;
  m.last_cache = measured.rates.last_cache > 0 ? measured.rates.last_cache : before.last_cache;
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
  m.grain = std::max(plan::Machine{}.grain, measure_wake_up());
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

std::string rates_text(const plan::Machine& m, const std::string& trouble) {
  return fmt::format("     matrix product {:.1f} GFLOP/s per thread, {:.1f} by blocks of rows\n", m.flop_rate * 1e-9,
                     m.flop_rate / m.product_in_rows() * 1e-9) +
         fmt::format("     vector loops   {:.1f} GFLOP/s per thread{}\n", m.flop_rate / m.flop_in_loop() * 1e-9,
                     trouble.empty() ? "" : fmt::format(" (not measured now: {})", trouble)) +
         fmt::format("     memory stream  {:.1f} GB/s per thread\n", m.stream_rate * 1e-9);
}

std::string overheads_text(const plan::Machine& m, const std::string& trouble) {
  const std::string overheads =
      fmt::format("     small steps    a task {:.1f} us, an exchange {:.1f} us, grain {:.0f} us", m.task_overhead * 1e6,
                  m.exchange_overhead * 1e6, m.grain * 1e6);
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
                                            {"row_product_rate", m.row_product_rate},
                                            {"loop_rate", m.flop_rate / m.flop_in_loop()},
                                            {"stream_rate", m.stream_rate},
                                            {"last_cache", m.last_cache},
                                            {"task_overhead", m.task_overhead},
                                            {"exchange_overhead", m.exchange_overhead},
                                            {"grain", m.grain},
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
  fmt::print("{}", rates_text(m, measured.rates.trouble));
  fmt::print("     last cache     {:.1f} MB\n", m.last_cache * 1e-6);
  fmt::print("{}", links_text(m, measured, !line.hosts.empty() && measured.far.trouble.empty()));
  fmt::print("{}", overheads_text(m, measured.overheads.trouble));
  fmt::print("{}", disk_text(m, measured.disk));
  if (kept) fmt::print("     constants      {} (programs started from now on plan with them)\n", file);
  return good ? 0 : 1;
}

}  // namespace tdsl::tools
