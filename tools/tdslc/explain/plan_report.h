#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/families/plan_walk.h"
#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/planner.h"
#include "runtime/plan/region/homes.h"
#include "runtime/plan/region/plan_request.h"
#include "tools/tdslc/explain/whole_plan.h"

namespace tdsl::tools {

/// One planned operation as `explain` shows it, summed over the times it runs.
struct PlanRow {
  int site = 0;
  int line = 0;
  int part = 0;
  std::string name;
  std::string kind;
  std::string layout;       ///< as the plan of the whole program says; empty: decided for this operation alone
  std::string next;         ///< the runner-up: how the site would be decided else,
  double next_bytes = 0;    ///< what the busiest rank would receive more in all
  double next_seconds = 0;  ///< and by how many seconds the program is predicted to be slower
  std::string plan;         ///< distribution, tiles, panels
  std::string why;
  std::int64_t times = 0;
  double stored = 0;        ///< elements of a compressed result, as expected,
  double stored_bytes = 0;  ///< and bytes of its blocks on all ranks,
  double imbalance = 0;     ///< elements of the fullest rank for one of all ranks on average; 0: not known
  plan::CostSummary summary;
};

/// What one rank does, as the engine's enumerator lists it.
struct RankReport {
  std::int64_t rank = 0;
  std::int64_t tasks = 0;
  std::int64_t messages = 0;  ///< boxes asked for
  std::int64_t steps = 0;
  double bytes_received = 0;
  double predicted_bytes = 0;
  double predicted_flops = 0;
  double peak_bytes = 0;  ///< owned blocks and the largest step
};

struct PlanReport {
  std::int64_t ranks = 1;
  int threads = 1;
  std::uint64_t plan_hash = 0;
  std::int64_t largest_step = 0;
  plan::MemoryNeed memory;        ///< under --memory
  std::int64_t memory_limit = 0;  ///< --memory in bytes, of a program that does not fit
  std::string memory_text;        ///< --memory as given, whose unit is that of sizes beside it
  plan::Machine machine;
  std::optional<plan::FoundHomes> homes;  ///< of a program that fits because not everything is at home in memory
  bool fits = true;                       ///< else `memory` is the least that is enough, and nothing else is known
  std::vector<PlanRow> rows;
  double bytes_received = 0;  ///< of all ranks
  double seconds = 0;
  std::optional<std::pair<double, double>> baseline;  ///< the two without --reproducible
  std::vector<plan::Alternative>
      alternatives;  ///< the plans of the whole program that were compared, the chosen one first
  std::optional<double>
      planning_seconds;  ///< what surveying and planning the whole program took, if that was asked for
  std::optional<WholePlan> whole;
  std::optional<WhyReport> why;  ///< if a site was asked about
  std::optional<std::int64_t>
      enough_ranks;      ///< of a program that does not fit: the smallest number of ranks that was found to be enough
  std::string found;     ///< how the chosen one was found
  plan::PlanValue plan;  ///< the chosen one, for --save-plan
  std::string predictions;           ///< of all ranks, as executables write them
  std::vector<RankReport> per_rank;  ///< the ranks asked for
  std::vector<std::pair<codegen::SourceRange, std::string>> notes;
};

struct ReportRequest {
  plan::PlanInputs inputs;
  plan::PlanRequest plan;
  std::string memory_text;   ///< --memory as given
  std::string why;           ///< name or number of a site whose values are wanted
  bool predictions = false;  ///< as text, for `tdslc compare`
  bool time_plan = false;
  codegen::WalkRequest walk;
  bool saves = false;                                     ///< the run would write checkpoints or go on from one
  bool spill = true;                                      ///< tensors may have homes on disk or in their files
  std::function<bool(const std::string& input)> in_file;  ///< of the input's file any box can be read at any time
  std::vector<std::int64_t> ranks;                        ///< whose totals are wanted
  bool enumerate = false;                                 ///< list their tasks and boxes one by one
  std::string assumption;                                 ///< what was taken for granted, for the notes
  std::vector<std::string> reading;  ///< what files of entries take while they are read, for the notes
};

/// What is asked about homes: they count --memory, which holds whatever the data is.
[[nodiscard]] plan::HomeRequest home_request(const ReportRequest& request);

/// Walks the program and plans it as a run on the request's ranks would; nothing is executed. Throws rt::RunError:
/// options, plan files and inputs that are wrong. Too little memory is no error: the report says so.
[[nodiscard]] PlanReport make_report(const codegen::FamilyProgram& program, const ReportRequest& request);

}  // namespace tdsl::tools
