#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/tdslc/commands.h"
#include "tools/tdslc/explain/figures.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

using nlohmann::json;

/// Predicted counts, exact or within bounds. Seconds are excluded.
constexpr const char* kStatementCounts[] = {"bytes_received", "bytes_sent", "messages", "flops", "tasks"};
constexpr const char* kRankCounts[] = {"bytes_received", "bytes_sent", "bytes_from_other_nodes"};

/// Further differences are only counted.
constexpr std::size_t kMostShown = 20;

/// "received bytes" for "bytes_received".
std::string in_words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

class Comparison {
 public:
  Comparison(json plan, json statistics) : plan_(std::move(plan)), statistics_(std::move(statistics)) {}

  /// Checks that both files describe the same run; otherwise nothing else is comparable.
  [[nodiscard]] bool compare_runs() {
    for (const char* name : {"program", "ranks", "ranks_per_node", "threads"}) {
      const json foreseen = plan_.value(name, json()), counted = statistics_.value(name, json());
      if (foreseen != counted)
        differ(
            fmt::format("the plan is of another run: {} {}, not {}", in_words(name), foreseen.dump(), counted.dump()));
    }
    return differences_ == 0;
  }

  /// Compares the plans: the run's file contains its own predictions.
  void compare_plans() {
    if (plan_["plan_hash"] == statistics_["plan_hash"]) return;
    const std::size_t before = differences_;
    const json here = plan_.value("constants", json::object()), there = statistics_.value("constants", json::object());
    for (const auto& [name, foreseen] : here.items()) {
      if (there.contains(name) && there[name] != foreseen) {
        differ(fmt::format("the run was planned with another constant of the machine: {} {}, not {}", in_words(name),
                           there[name].dump(), foreseen.dump()));
      }
    }
    for (const json& foreseen : plan_["statements"]) {
      const json* planned = of_site(statistics_["statements"], foreseen["site"]);
      if (planned != nullptr) compare_planned(foreseen, *planned);
    }
    if (differences_ == before)
      differ(
          "the run was planned otherwise: layouts or tiles differ, with the same counts (give both the same --tile, "
          "--memory, --schedule and files)");
  }

  void compare_statements() {
    for (const json& foreseen : plan_["statements"]) {
      const json* counted = of_site(statistics_["statements"], foreseen["site"]);
      if (counted == nullptr) {
        differ(name_of(foreseen) + ": foreseen, but not in the run");
        continue;
      }
      ++statements_;
      compare_counts(name_of(foreseen), foreseen, *counted);
    }
    for (const json& counted : statistics_["statements"]) {
      if (of_site(plan_["statements"], counted["site"]) == nullptr)
        differ(name_of(counted) + ": in the run, but not foreseen");
    }
  }

  /// Compares totals over statements, and counts that belong to no statement.
  void compare_ranks() {
    const json &foreseen = plan_["per_rank"], &counted = statistics_["per_rank"];
    if (foreseen.size() != counted.size())
      return differ(fmt::format("{} ranks are foreseen, {} were counted", foreseen.size(), counted.size()));
    for (std::size_t r = 0; r < counted.size(); ++r) {
      const json& predicted = foreseen[r].contains("predicted") ? foreseen[r]["predicted"] : foreseen[r];
      for (const char* count : kRankCounts) {
        if (predicted.contains(count))
          compare_count(fmt::format("all statements, rank {}", r), count, predicted[count],
                        counted[r].value(count, json()));
      }
    }
  }

  /// The exit code, after all output.
  [[nodiscard]] int finish() const {
    if (differences_ > kMostShown) fmt::print("... and {} more\n", differences_ - kMostShown);
    if (differences_ > 0) {
      fmt::print("{} difference{}\n", differences_, differences_ == 1 ? "" : "s");
      return 1;
    }
    fmt::print("{} statements on {} ranks: all {} counts are as foreseen\n", statements_, statistics_["ranks"].dump(),
               counts_);
    return 0;
  }

 private:
  /// Counts in which the run's own plan of a statement differs.
  void compare_planned(const json& foreseen, const json& planned) {
    if (!foreseen.contains("predicted") || !planned.contains("predicted")) return;
    std::string counts;
    for (const char* count : kStatementCounts) {
      const json here = foreseen["predicted"].value(count, json()), there = planned["predicted"].value(count, json());
      if (here != there)
        counts +=
            fmt::format("{}{} {}, not {}", counts.empty() ? "" : "; ", in_words(count), there.dump(), here.dump());
    }
    if (!counts.empty()) differ(fmt::format("{}: the run was planned otherwise: {}", name_of(foreseen), counts));
  }

  static const json* of_site(const json& statements, const json& site) {
    const auto found =
        std::ranges::find_if(statements, [&](const json& statement) { return statement["site"] == site; });
    return found == statements.end() ? nullptr : &*found;
  }

  static std::string name_of(const json& statement) {
    const auto text = [&](const char* key) {
      return statement.contains(key) && statement[key].is_string() ? statement[key].get<std::string>() : std::string();
    };
    return fmt::format("line {}, {} ({}, site {})", statement.value("line", json()).dump(), text("name"), text("kind"),
                       statement["site"].dump());
  }

  void differ(const std::string& message) {
    if (++differences_ <= kMostShown) fmt::print("{}\n", message);
  }

  /// Compares totals, and per-rank counts if both files list them.
  void compare_counts(const std::string& name, const json& foreseen, const json& counted) {
    compare_sites(name + ", all ranks", foreseen, counted);
    const bool listed = foreseen.contains("per_rank") && counted.contains("per_rank") &&
                        foreseen["per_rank"].size() == counted["per_rank"].size();
    if (!listed) return;
    for (std::size_t r = 0; r < counted["per_rank"].size(); ++r) {
      compare_sites(fmt::format("{}, rank {}", name, r), foreseen["per_rank"][r], counted["per_rank"][r]);
    }
  }

  void compare_sites(const std::string& where, const json& foreseen, const json& counted) {
    if (!foreseen.contains("predicted") || !counted.contains("measured")) {
      throw UsageError("one file is to be of --plan, the other one of --stats");
    }
    for (const char* count : kStatementCounts)
      compare_count(where, count, foreseen["predicted"].value(count, json()), counted["measured"].value(count, json()));
  }

  void compare_count(const std::string& where, const char* count, const json& foreseen, const json& counted) {
    ++counts_;
    const bool bounds = foreseen.is_array() && foreseen.size() == 2;
    const json& low = bounds ? foreseen[0] : foreseen;
    const json& high = bounds ? foreseen[1] : foreseen;
    const bool numbers = low.is_number() && high.is_number() && counted.is_number();
    if (numbers && low.get<double>() <= counted.get<double>() && counted.get<double>() <= high.get<double>()) return;
    const std::string expected = bounds ? fmt::format("{} to {}", low.dump(), high.dump()) : foreseen.dump();
    differ(fmt::format("{}: {} {} counted, {} foreseen", where, in_words(count), counted.dump(), expected));
  }

  json plan_, statistics_;
  std::size_t statements_ = 0, counts_ = 0, differences_ = 0;
};

}  // namespace

int compare(const CommandLine& line) {
  json plan = read_figures(line.files[0]), statistics = read_figures(line.files[1]);
  // Only a run's file has phases; accept the files in either order.
  if (plan.contains("phases") && !statistics.contains("phases")) std::swap(plan, statistics);
  Comparison comparison(std::move(plan), std::move(statistics));
  try {
    if (!comparison.compare_runs()) return comparison.finish();
    comparison.compare_plans();
    comparison.compare_statements();
    comparison.compare_ranks();
  } catch (const json::exception&) {
    throw UsageError(fmt::format("{}, {}: one of them has values of other types than --plan and --stats write",
                                 line.files[0], line.files[1]));
  }
  return comparison.finish();
}

}  // namespace tdsl::tools
