#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "tools/tdslc/explain/plan_output.h"

namespace tdsl::tools {

namespace {

using nlohmann::ordered_json;

ordered_json statements_of(const PlanReport& report) {
  ordered_json statements = ordered_json::array();
  for (const PlanRow& r : report.rows) {
    statements.push_back({{"line", r.line},
                          {"name", r.name},
                          {"kind", r.kind},
                          {"site", r.site},
                          {"part", r.part},
                          {"times", r.times},
                          {"plan", r.plan},
                          {"why", r.why},
                          {"predicted",
                           {{"bytes_received_max", r.summary.max_bytes},
                            {"bytes_received_mean", r.summary.mean_bytes},
                            {"flops_max", r.summary.max_flops},
                            {"flops_mean", r.summary.mean_flops},
                            {"step_bytes_max", r.summary.max_step},
                            {"seconds", r.summary.max_seconds}}}});
    if (r.summary.max_writes > 0)
      statements.back()["predicted"].update(
          {{"writes_max", r.summary.max_writes}, {"mean_write_bytes", r.summary.file_bytes / r.summary.max_writes}});
    if (r.stored_bytes > 0) statements.back()["stored"] = {{"elements", r.stored}, {"bytes", r.stored_bytes}};
    if (r.imbalance > 0) statements.back()["stored"]["imbalance"] = r.imbalance;
    if (!r.by_lists.empty()) statements.back()["by_lists"] = r.by_lists;
    if (!r.layout.empty()) statements.back()["layout"] = r.layout;
    if (!r.next.empty())
      statements.back()["runner_up"] = {{"layout", r.next},
                                        {"more", {{"bytes_received_max", r.next_bytes}, {"seconds", r.next_seconds}}}};
  }
  return statements;
}

/// The whole-program plan.
ordered_json whole_of(const PlanReport& report) {
  const WholePlan& whole = *report.whole;
  ordered_json json = {{"exact", whole.exact},
                       {"how", report.found},
                       {"trip_counts_guessed", whole.guessed},
                       {"peak_bytes", whole.peak_bytes},
                       {"limit_bytes", whole.limited ? ordered_json(whole.limit_bytes) : ordered_json()},
                       {"search_bound_bytes", whole.limit_bytes},
                       {"kept", whole.kept},
                       {"fence", whole.fence}};
  if (!report.alternatives.empty() && report.alternatives.front().plan != nullptr) {
    ordered_json mesh = ordered_json::array();
    for (const plan::MeshAxis& axis : report.alternatives.front().plan->mesh.axes) mesh.push_back(axis.size);
    json["mesh"] = mesh;
  }
  return json;
}

ordered_json json_of_why(const WhyReport& why) {
  ordered_json values = ordered_json::array();
  for (std::size_t k = 0; k < why.values.size(); ++k) {
    const plan::SiteValue& v = why.values[k];
    values.push_back({{"layout", v.layout}, {"chosen", v.chosen}, {"possible", v.possible}, {"fits", v.fits}});
    if (v.possible) {
      values.back()["predicted"] = {{"bytes_received_max", v.price.bytes_received},
                                    {"messages_max", v.price.messages},
                                    {"peak_bytes", v.price.peak_bytes},
                                    {"seconds", v.seconds}};
      values.back()["loses_by_seconds"] = v.seconds - why.values.front().seconds;
    }
    if (!why.broken[k].empty()) values.back()["broken"] = why.broken[k];
  }
  return {{"site", why.site},
          {"line", why.line},
          {"name", why.name},
          {"kind", why.kind},
          {"of_chosen_plan", !why.of_search},
          {"values", values},
          {"left_out", why.left_out}};
}

}  // namespace

std::string json_of(const PlanReport& report, const Front& front) {
  ordered_json ranks = ordered_json::array();
  for (const RankReport& r : report.per_rank) {
    ranks.push_back({{"rank", r.rank},
                     {"tasks", r.tasks},
                     {"messages", r.messages},
                     {"steps", r.steps},
                     {"bytes_received", r.bytes_received},
                     {"peak_block_bytes", r.peak_bytes},
                     {"predicted", {{"bytes_received", r.predicted_bytes}, {"flops", r.predicted_flops}}}});
  }
  ordered_json notes = ordered_json::array();
  for (const auto& [range, note] : report.notes) notes.push_back({{"line", range.line}, {"text", note}});
  ordered_json all = {{"version", 1},
                      {"program", front.graph.name},
                      {"plan_hash", fmt::format("{:016x}", report.plan_hash)},
                      {"ranks", report.ranks},
                      {"threads", report.threads},
                      {"largest_step_bytes", report.largest_step},
                      {"statements", statements_of(report)},
                      {"per_rank", ranks},
                      {"notes", notes}};
  for (const plan::Alternative& a : report.alternatives) {
    all["alternatives"].push_back(
        {{"schedule", a.name},
         {"fits", a.fits},
         {"predicted", {{"bytes_received_max", a.price.bytes_received}, {"seconds", a.price.seconds}}}});
  }
  if (report.planning_seconds) all["planning_seconds"] = *report.planning_seconds;
  if (!report.alternatives.empty()) all["schedule"] = report.alternatives.front().name;
  if (report.whole) all["whole"] = whole_of(report);
  if (!report.paper_costs.empty()) all["paper_costs"] = report.paper_costs;
  if (report.why) all["values"] = json_of_why(*report.why);
  if (report.memory.bytes > 0) {
    all["memory"] = {{"needed_bytes", report.memory.bytes},
                     {"fits", report.fits},
                     {"line", rt::line_in(report.memory.line)},
                     {"name", report.memory.name}};
  }
  if (report.homes) {
    nlohmann::ordered_json moved = nlohmann::ordered_json::array();
    for (const plan::MovedTensor& t : report.homes->tensors) {
      moved.push_back({{"name", t.name},
                       {"line", rt::line_in(t.line)},
                       {"home", plan::name_of(t.housing.home)},
                       {"bytes", t.bytes}});
    }
    all["spill"] = {{"tensors", moved},
                    {"disk_read", report.homes->read},
                    {"disk_written", report.homes->written},
                    {"seconds", report.homes->disk_seconds}};
    if (report.homes->saved > 0) all["spill"]["checkpoint_read"] = report.homes->saved;
  }
  if (report.enough_ranks) all["memory"]["fits_on_ranks"] = *report.enough_ranks;
  if (report.baseline) {
    all["reproducible"] = {
        {"predicted", {{"bytes_received", report.bytes_received}, {"seconds", report.seconds}}},
        {"predicted_without", {{"bytes_received", report.baseline->first}, {"seconds", report.baseline->second}}}};
  }
  return all.dump(2) + "\n";
}

}  // namespace tdsl::tools
