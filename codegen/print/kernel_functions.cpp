#include "codegen/print/kernel_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "codegen/print/emit_kernel.h"

namespace tdsl::codegen {

namespace {

std::string names_of(const std::vector<ValueId>& values, const KernelRequest& request) {
  std::string list;
  for (const ValueId v : values) list += (list.empty() ? "" : ", ") + request.value_name(v);
  return list;
}

}  // namespace

std::string KernelFunctions::add(KernelRequest request) {
  const bool fused = request.step.fused != nullptr;
  const std::string title = std::exchange(request.name, "");
  const std::optional<ShortKernel> point = fused ? std::nullopt : short_kernel(request);
  request.name = table_.claim(request.place.known() ? fmt::format("{}_{}", title, request.place.line)
                                                    : fmt::format("kernel_{}", title));
  if (point) return add_point(request, *point);
  const EmittedKernel k = emit_kernel(request);
  const std::string captures = names_of(k.captures, request);
  if (const auto known = known_.find_or_add(k.function, request.name)) {
    table_.release(request.name);
    return argument(*known, captures);
  }
  needs_.add(k.needs);
  const std::string& level = levels_[request.name] = versions_.level(k.widest, price_of_version(k.function));
  ++counts_.kernels;
  counts_.versions += versions_at(level);
  line_of(request.place).functions +=
      left_out_comment(k.widest, level) + (level.empty() ? "" : "TDSL_VERSIONS ") + k.function + "\n";
  return argument(request.name, captures);
}

/// A kernel that is one expression of a point: a function outside of program(), which is compiled without optimization.
std::string KernelFunctions::add_point(const KernelRequest& request, const ShortKernel& point) {
  if (point.loops.empty()) {
    table_.release(request.name);
    return fmt::format("rt::constant<{}>({}{})", point.arguments, point.function, names_of(point.values, request));
  }
  std::string function = request.name;
  const auto known = known_.find_or_add(point.function, function);
  if (known) table_.release(std::exchange(function, *known));
  const auto [instance, added] = levels_.try_emplace(fmt::format("{}<{}>({})", point.loops, point.arguments, function));
  std::string& level = instance->second;
  if (added) {
    level = versions_.level(point.widest, VersionBudget::kPointPrice);
    counts_.versions += versions_at(level);
  }
  if (!known) ++counts_.kernels;
  if (!known)
    line_of(request.place).points +=
        fmt::format("{}constexpr auto {} = {};\n", left_out_comment(point.widest, level), function, point.function);
  const std::string arguments = point.arguments + (point.arguments.empty() || level.empty() ? "" : ", ") + level;
  return fmt::format("{}{}({}{})", point.loops, arguments.empty() ? "" : "<" + arguments + ">", function,
                     point.values.empty() ? "" : ", " + names_of(point.values, request));
}

std::string KernelFunctions::argument(const std::string& function, const std::string& captures) {
  const std::string& level = levels_[function];
  if (!level.empty()) return fmt::format("rt::versions<{}, {}>({})", level, function, captures);
  return captures.empty() ? function : fmt::format("[{0}](const TaskArgs& t) {{ {1}(t, {0}); }}", captures, function);
}

void KernelFunctions::add_task(const std::string& function, const Needs& needs, ir::SourceRange place) {
  needs_.add(needs);
  ++counts_.kernels;
  ++counts_.versions;
  line_of(place).functions += function + "\n";
}

KernelFunctions::SourceLine& KernelFunctions::line_of(ir::SourceRange place) {
  const std::string comment = place.known() ? comment_(place) + "\n" : "";
  const auto line = std::ranges::find(lines_, comment, &SourceLine::comment);
  return line == lines_.end() ? lines_.emplace_back(SourceLine{comment, "", ""}) : *line;
}

std::string KernelFunctions::text() const {
  std::string text;
  for (const SourceLine& line : lines_) text += line.comment + line.points + line.functions;
  return lines_.empty() || !lines_.back().functions.empty() ? text : text + "\n";
}

}  // namespace tdsl::codegen
