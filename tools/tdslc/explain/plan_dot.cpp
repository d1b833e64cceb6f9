#include <fmt/format.h>

#include <map>

#include "tools/tdslc/explain/plan_output.h"

namespace tdsl::tools {

namespace {

std::string dot_string(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string dot_of(const PlanReport& report, const Front& front) {
  std::map<int, double> received;
  for (const PlanRow& row : report.rows) received[row.site] += row.summary.max_bytes;
  std::string text = fmt::format("digraph \"{}\" {{\n  node [shape=box];\n", dot_string(front.graph.name));
  if (!report.whole) return text + "}\n";
  for (const WholePlan::Node& node : report.whole->nodes) {
    std::string label = fmt::format("{}\\n{}, line {}", dot_string(node.name), node.kind, node.line);
    if (!node.layout.empty()) label += "\\n" + dot_string(node.layout);
    if (received[node.site] > 0) label += "\\nreceives " + human_bytes(received[node.site]);
    text += fmt::format("  s{} [label=\"{}\"];\n", node.site, label);
  }
  for (const WholePlan::Node& node : report.whole->nodes) {
    for (const auto& [from, copy] : node.reads)
      text += fmt::format("  s{} -> s{}{};\n", from, node.site, copy ? " [style=dashed]" : "");
  }
  return text + "}\n";
}

}  // namespace tdsl::tools
