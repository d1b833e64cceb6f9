#include "codegen/print/kernel_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "codegen/print/emit_expr.h"
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
  const std::vector<KernelValue> values = values_of(request, k.captures);
  if (const auto known = known_.find_or_add(k.function, request.name)) {
    table_.release(request.name);
    return made(*known, argument(*known, captures), values);
  }
  needs_.add(k.needs);
  const int price = price_of_version(k.function);
  const std::string& level = levels_[request.name] = versions_.level(k.widest, price);
  ++counts_.kernels;
  counts_.versions += versions_at(level);
  const std::size_t unit = place_function(request.name);
  add_weight(unit, price, level);
  line_of(unit, request.place).functions +=
      left_out_comment(k.widest, level) + (level.empty() ? "" : "TDSL_VERSIONS ") + k.function + "\n";
  return made(request.name, argument(request.name, captures), values);
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
  const std::size_t unit = known ? unit_of_.at(function) : place_function(function);
  const auto [instance, added] = levels_.try_emplace(fmt::format("{}<{}>({})", point.loops, point.arguments, function));
  std::string& level = instance->second;
  if (added) {
    level = versions_.level(point.widest, VersionBudget::kPointPrice);
    counts_.versions += versions_at(level);
    add_weight(unit, VersionBudget::kPointPrice, level);
  }
  if (!known) {
    ++counts_.kernels;
    line_of(unit, request.place).points +=
        fmt::format("{}constexpr auto {} = {};\n", left_out_comment(point.widest, level), function, point.function);
  }
  const std::string arguments = point.arguments + (point.arguments.empty() || level.empty() ? "" : ", ") + level;
  return made(function,
              fmt::format("{}{}({}{})", point.loops, arguments.empty() ? "" : "<" + arguments + ">", function,
                          point.values.empty() ? "" : ", " + names_of(point.values, request)),
              values_of(request, point.values));
}

std::string KernelFunctions::argument(const std::string& function, const std::string& captures) {
  const std::string& level = levels_[function];
  if (!level.empty()) return fmt::format("rt::versions<{}, {}>({})", level, function, captures);
  return captures.empty() ? function : fmt::format("[{0}](const TaskArgs& t) {{ {1}(t, {0}); }}", captures, function);
}

std::string KernelFunctions::made(const std::string& function, const std::string& kernel,
                                  const std::vector<KernelValue>& values) {
  Unit& unit = units_[unit_of_.at(function)];
  if (&unit == &units_.front()) return kernel;
  std::string& call = makers_[kernel];
  if (!call.empty()) return call;
  std::string parameters, arguments;
  for (const KernelValue& v : values) {
    parameters += fmt::format("{}{} {}", parameters.empty() ? "" : ", ", v.type, v.name);
    arguments += (arguments.empty() ? "" : ", ") + v.value;
  }
  const std::string name = table_.claim("make_" + function);
  unit.declared += fmt::format("rt::EmittedKernel {}({});\n", name, parameters);
  unit.makers += fmt::format("rt::EmittedKernel {}({}) {{ return {}; }}\n", name, parameters, kernel);
  return call = fmt::format("{}({})", name, arguments);
}

std::vector<KernelValue> KernelFunctions::values_of(const KernelRequest& request,
                                                    const std::vector<ValueId>& captures) {
  std::vector<KernelValue> values;
  for (const ValueId v : captures) {
    const std::string name = request.value_name(v);
    values.push_back({std::string(cpp_type(request.program.type(v).scalar)), name, name});
  }
  return values;
}

std::string KernelFunctions::add_task(const std::string& function, const std::string& name, const Needs& needs,
                                      ir::SourceRange place, const std::string& kernel,
                                      const std::vector<KernelValue>& values) {
  needs_.add(needs);
  ++counts_.kernels;
  ++counts_.versions;
  const std::size_t unit = place_function(name);
  add_weight(unit, price_of_version(function), "");
  line_of(unit, place).functions += function + "\n";
  return made(name, kernel, values);
}

std::size_t KernelFunctions::place_function(const std::string& function) {
  const auto lightest = std::ranges::min_element(units_, {}, &Unit::weight);
  return unit_of_[function] = static_cast<std::size_t>(lightest - units_.begin());
}

void KernelFunctions::add_weight(std::size_t unit, int price, const std::string& level) {
  units_[unit].weight += price * static_cast<double>(versions_at(level));
}

KernelFunctions::SourceLine& KernelFunctions::line_of(std::size_t unit, ir::SourceRange place) {
  const std::string comment = place.known() ? comment_(place) + "\n" : "";
  std::vector<SourceLine>& lines = units_[unit].lines;
  const auto line = std::ranges::find(lines, comment, &SourceLine::comment);
  return line == lines.end() ? lines.emplace_back(SourceLine{comment, "", ""}) : *line;
}

std::string KernelFunctions::text(std::size_t unit) const {
  const std::vector<SourceLine>& lines = units_[unit].lines;
  std::string text;
  for (const SourceLine& line : lines) text += line.comment + line.points + line.functions;
  return lines.empty() || !lines.back().functions.empty() ? text : text + "\n";
}

std::string KernelFunctions::makers(std::size_t unit) const {
  if (unit > 0) return units_[unit].makers;
  std::string declared;
  for (const Unit& other : units_) declared += other.declared;
  return declared;
}

double KernelFunctions::weight() const {
  double sum = 0;
  for (const Unit& unit : units_) sum += unit.weight;
  return sum;
}

}  // namespace tdsl::codegen
