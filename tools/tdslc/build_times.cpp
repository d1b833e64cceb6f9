#include "tools/tdslc/build_times.h"

#include <fmt/format.h>

namespace tdsl::tools {

namespace {

constexpr double kMillisecond = 1e3;

}  // namespace

double BuildTimes::total() const {
  double seconds = 0;
  for (const codegen::BuildStep& step : record_.steps) seconds += step.seconds;
  return seconds;
}

std::string BuildTimes::text(bool json) const {
  std::string list;
  double cpu = 0;
  for (const codegen::BuildStep& step : record_.steps) {
    cpu += step.cpu_seconds;
    if (json) {
      list += fmt::format("{}{{\"name\": \"{}\", \"ms\": {:.3f}, \"cpu_ms\": {:.3f}}}", list.empty() ? "" : ",\n  ",
                          step.name, step.seconds * kMillisecond, step.cpu_seconds * kMillisecond);
    } else {
      list += fmt::format("{:<24}{:10.3f} ms{:10.3f} ms of processor time\n", step.name, step.seconds * kMillisecond,
                          step.cpu_seconds * kMillisecond);
    }
  }
  if (json) {
    return fmt::format(
        "{{\"steps\": [\n  {}],\n \"ms\": {:.3f}, \"cpu_ms\": {:.3f}, \"cached\": {},\n \"kernels\": {}, "
        "\"versions\": {}, \"units\": {}, \"source_bytes\": {}, \"object_bytes\": {}}}\n",
        list, total() * kMillisecond, cpu * kMillisecond, cached, counts.kernels, counts.versions, counts.units,
        counts.source_bytes, record_.object_bytes);
  }
  return list +
         fmt::format("{:<24}{:10.3f} ms{:10.3f} ms of processor time\n{} kernels in {} versions, {} {}, {} bytes{}\n",
                     "total", total() * kMillisecond, cpu * kMillisecond, counts.kernels, counts.versions, counts.units,
                     counts.units == 1 ? "unit" : "units", counts.source_bytes,
                     cached ? "; the executable was in the cache" : "");
}

}  // namespace tdsl::tools
