#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/app/memory/spill.h"
#include "runtime/app/options/options.h"
#include "runtime/check.h"
#include "runtime/shapes.h"
#include "tools/tdslc/explain/plan_output.h"

namespace tdsl::tools {

namespace {

double ratio(double max, double mean) { return mean > 0 ? max / mean : 1; }

std::string notes_of(const PlanReport& report, const Front& front) {
  std::string text;
  for (const auto& [range, note] : report.notes) {
    text += fmt::format("{}note: {}\n", range.known() ? front.sources.place(range) + ": " : "", note);
  }
  return text;
}

/// The output if no plan fits --memory.
std::string misfit_of(const PlanReport& report, const CommandLine& line, const Front& front) {
  const plan::MemoryNeed& need = report.memory;
  const std::string limit = rt::given_size(report.memory_limit, report.memory_text);
  const auto size = [&](plan::Index bytes) { return rt::shown_size(bytes, report.memory_text); };
  const std::string ranks = rt::counted(static_cast<std::size_t>(report.ranks), "rank");
  std::string text = fmt::format("{} on {} with {} each does not fit --memory {}\n", line.program, ranks,
                                 rt::counted(static_cast<std::size_t>(report.threads), "thread"), limit);
  text += fmt::format(
      "`{}` (line {}) needs the most on a rank: {}, of them {} of operands, results and other live tensors, and {} "
      "received or copied at once\n",
      need.name, rt::line_in(need.line), size(need.bytes), size(need.bytes - need.step), size(need.step));
  text += fmt::format("the least of all plans on {} is --memory {}\n", ranks,
                      rt::option_size(need.bytes, report.memory_text));
  if (report.enough_ranks) text += fmt::format("with --memory {} it fits on {} ranks\n", limit, *report.enough_ranks);
  return text + notes_of(report, front);
}

/// Maximum number of items per line.
constexpr std::size_t kItemsShown = 6;

std::string list_of(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t k = 0; k < std::min(items.size(), kItemsShown); ++k) text += (text.empty() ? "" : ", ") + items[k];
  if (items.size() > kItemsShown) text += fmt::format(" and {} more", items.size() - kItemsShown);
  return text.empty() ? "none" : text;
}

/// `, mesh a:2 b:2`
std::string mesh_of(const PlanReport& report) {
  std::string text;
  if (report.alternatives.empty() || report.alternatives.front().plan == nullptr) return text;
  const plan::Mesh& mesh = report.alternatives.front().plan->mesh;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a)
    text += fmt::format(" {}:{}", static_cast<char>('a' + a), mesh.axes[a].size);
  return ", mesh" + text;
}

/// `, schedule search (exact; loops as 2 iterations)`
std::string schedule_of(const PlanReport& report) {
  if (report.alternatives.empty()) return {};
  std::vector<std::string> how;
  if (!report.found.empty() && report.alternatives.front().plan != nullptr)
    how.push_back(report.whole->exact ? "exact" : report.found);
  if (report.whole->loops) how.push_back(report.whole->guessed ? "trip counts guessed" : "loops as 2 iterations");
  return fmt::format(", schedule {}{}", report.alternatives.front().name,
                     how.empty() ? "" : fmt::format(" ({})", fmt::join(how, "; ")));
}

/// The chosen plan in one line, compared with other schedules.
std::string totals_of(const PlanReport& report) {
  if (report.alternatives.empty()) return {};
  std::string text = "busiest rank: ";
  for (const plan::Alternative& a : report.alternatives) {
    const bool chosen = &a == &report.alternatives.front();
    text += fmt::format("{}{}{} in {:.3g} s{}", chosen ? "" : "; ", chosen ? "" : a.name + " ",
                        human_bytes(a.price.bytes_received) + (chosen ? " received" : ""), a.price.seconds,
                        a.fits ? "" : fmt::format(", exceeds {}", limit_name(report.whole->limited)));
  }
  const WholePlan& whole = *report.whole;
  if (report.planning_seconds) text += fmt::format("; planned in {:.6f} s", *report.planning_seconds);
  text += fmt::format("; peak {}", human_bytes(whole.peak_bytes));
  if (whole.limited) {
    text += " of " + human_bytes(whole.limit_bytes);
  } else if (std::ranges::any_of(report.alternatives, [](const plan::Alternative& a) { return !a.fits; })) {
    text += fmt::format(", no limit is given (the search's bound: {})", human_bytes(whole.limit_bytes));
  }
  return text +
         fmt::format("; kept: {}; fences: {}\n", list_of(whole.kept), whole.fence.empty() ? "none" : whole.fence);
}

/// `next i0:a i1:b, +6.4 MB, +0.1 s`
std::string next_of(const PlanRow& row) {
  if (row.next.empty()) return {};
  const std::string bytes = row.next_bytes == 0 ? ""
                                                : fmt::format(", {}{}", row.next_bytes > 0 ? "+" : "-",
                                                              human_bytes(std::abs(row.next_bytes)));
  return fmt::format("next {}{}, {:+.3g} s", row.next, bytes, row.next_seconds);
}

std::string rows_of(const PlanReport& report) {
  std::string text = fmt::format("{:>5}  {:<20} {:<12} {:>5} {:>10} {:>10}  {:<18} {}\n", "line", "statement", "kind",
                                 "times", "received", "seconds", "layout", "runner-up");
  for (const PlanRow& r : report.rows) {
    const std::string next = next_of(r);
    text += fmt::format("{:>5}  {:<20} {:<12} {:>5} {:>10} {:>10.3g}", r.line, r.name.substr(0, 20), r.kind, r.times,
                        human_bytes(r.summary.max_bytes), r.summary.max_seconds);
    if (!r.layout.empty()) text += next.empty() ? "  " + r.layout : fmt::format("  {:<18} {}", r.layout, next);
    text += fmt::format("\n         {}{}; {}flops ({:.3f}), received ({:.3f}), step {}\n", r.plan,
                        r.why.empty() ? "" : " - " + r.why, human_count(r.summary.max_flops) + " ",
                        ratio(r.summary.max_flops, r.summary.mean_flops),
                        ratio(r.summary.max_bytes, r.summary.mean_bytes), human_bytes(r.summary.max_step));
    if (r.summary.max_writes > 0)
      text += fmt::format("         {}writes of {} on the busiest rank\n", human_count(r.summary.max_writes) + " ",
                          human_bytes(r.summary.file_bytes / r.summary.max_writes));
    for (const std::string& name : r.by_lists) text += fmt::format("         {}: by lists where under half\n", name);
    const std::string imbalance =
        r.imbalance > 0 ? fmt::format(", {:.2f} times the mean on the fullest rank", r.imbalance) : "";
    if (r.stored_bytes > 0)
      text += fmt::format("         compressed: {}elements stored in {}{}\n", human_count(r.stored) + " ",
                          human_bytes(r.stored_bytes), imbalance);
  }
  return text;
}

/// All candidate values of a site.
std::string why_text_of(const WhyReport& why) {
  std::string text = fmt::format("{} ({}, line {}, site {})", why.name, why.kind, why.line, why.site);
  if (why.values.empty()) return text + ": nothing is chosen here\n";
  text += why.of_search ? ", in the searched plan, which is not the chosen one\n" : "\n";
  text += fmt::format("  {:<36} {:>10} {:>10} {:>10} {:>10}  {}\n", "value", "received", "messages", "peak", "seconds",
                      "loses by");
  const plan::SiteValue& best = why.values.front();
  for (std::size_t k = 0; k < why.values.size(); ++k) {
    const plan::SiteValue& v = why.values[k];
    if (!v.possible) {
      text += fmt::format("  {:<36} {:>43}  {}\n", v.layout, "", why.broken[k]);
      continue;
    }
    std::string loss = v.chosen ? "chosen" : fmt::format("{:+.3g} s", v.seconds - best.seconds);
    if (!why.broken[k].empty()) loss = why.broken[k];
    text += fmt::format("  {:<36} {:>10} {:>10} {:>10} {:>10.4g}  {}\n", v.layout, human_bytes(v.price.bytes_received),
                        human_count(v.price.messages), human_bytes(v.price.peak_bytes), v.seconds, loss);
  }
  if (why.left_out > 0) text += fmt::format("  and {} more that look no cheaper\n", why.left_out);
  return text + "of the whole program: bytes and messages of the busiest rank, its blocks at most, predicted seconds\n";
}

}  // namespace

std::string text_of(const PlanReport& report, const CommandLine& line, const Front& front) {
  if (!report.fits) return misfit_of(report, line, front);
  if (report.why) return why_text_of(*report.why) + notes_of(report, front);
  const std::string per_node = line.ranks_per_node ? fmt::format(", {} a node,", *line.ranks_per_node) : "";
  std::string text =
      fmt::format("{} on {} ranks{} with {} threads each{}, plan {:016x}{}\n", line.program, report.ranks, per_node,
                  report.threads, mesh_of(report), report.plan_hash, schedule_of(report));
  text += totals_of(report) + rows_of(report) + report.paper_costs;
  for (const RankReport& r : report.per_rank) {
    text += fmt::format("rank {}: {} tasks, {} messages, {} received, {}flops, peak {}", r.rank,
                        human_count(static_cast<double>(r.tasks)), human_count(static_cast<double>(r.messages)),
                        human_bytes(r.bytes_received), human_count(r.predicted_flops) + " ", human_bytes(r.peak_bytes));
    if (r.steps > 0)
      text += fmt::format(" in {} steps; predicted {} received", r.steps, human_bytes(r.predicted_bytes));
    text += '\n';
  }
  text += fmt::format("largest step: {} (the smallest legal --window)\n",
                      human_bytes(static_cast<double>(report.largest_step)));
  if (report.homes) text += fmt::format("spills: {}\n", rt::homes_text(*report.homes, "", report.machine));
  if (report.memory.bytes > 0) {
    text += fmt::format("memory: `{}` (line {}) needs the most on a rank, {}\n", report.memory.name,
                        rt::line_in(report.memory.line), human_bytes(static_cast<double>(report.memory.bytes)));
  }
  if (report.baseline) {
    text += fmt::format("reproducible: {} received by all ranks instead of {}, {:.3g} s predicted instead of {:.3g}\n",
                        human_bytes(report.bytes_received), human_bytes(report.baseline->first), report.seconds,
                        report.baseline->second);
  }
  return text + notes_of(report, front);
}

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
