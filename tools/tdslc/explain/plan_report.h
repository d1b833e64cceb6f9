#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/walk/plan_walk.h"
#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/planner.h"
#include "runtime/plan/region/homes.h"
#include "runtime/plan/region/plan_request.h"
#include "tools/tdslc/explain/whole_plan.h"

namespace tdsl::tools {

/// A planned operation as shown by `explain`, summed over its executions.
struct PlanRow {
  int site = 0;
  int line = 0;
  int part = 0;
  std::string name;
  std::string kind;
  std::string layout;       ///< from the whole-program plan; empty: decided for this operation alone
  std::string next;         ///< the runner-up decision for the site
  double next_bytes = 0;    ///< its additional bytes received by the busiest rank
  double next_seconds = 0;  ///< its predicted slowdown of the program in seconds
  std::string plan;         ///< distribution, tiles, panels
  std::string why;
  std::int64_t times = 0;
  double stored = 0;                  ///< expected elements of a compressed result
  double stored_bytes = 0;            ///< bytes of its blocks on all ranks
  double imbalance = 0;               ///< elements of the fullest rank over the mean; 0: unknown
  std::vector<std::string> by_lists;  ///< operands whose parts ranks may request by lists
  plan::CostSummary summary;
};

/// Work of one rank, from the engine's enumerator.
struct RankReport {
  std::int64_t rank = 0;
  std::int64_t tasks = 0;
  std::int64_t messages = 0;  ///< number of requested boxes
  std::int64_t steps = 0;
  double bytes_received = 0;
  double predicted_bytes = 0;
  double predicted_flops = 0;
  double peak_bytes = 0;  ///< owned blocks plus the largest step
};

struct PlanReport {
  std::int64_t ranks = 1;
  int threads = 1;
  std::uint64_t plan_hash = 0;
  std::int64_t largest_step = 0;
  plan::MemoryNeed memory;        ///< under --memory
  std::int64_t memory_limit = 0;  ///< --memory in bytes, if the program does not fit
  std::string memory_text;        ///< --memory as given; sizes are printed in its unit
  plan::Machine machine;
  std::optional<plan::FoundHomes> homes;  ///< set if the program only fits with tensors outside memory
  bool fits = true;  ///< if false, `memory` is the least sufficient memory, and nothing else is valid
  std::vector<PlanRow> rows;
  double bytes_received = 0;  ///< sum over ranks
  double seconds = 0;
  std::optional<std::pair<double, double>> baseline;  ///< both values without --reproducible
  std::vector<plan::Alternative> alternatives;        ///< whole-program plans that were compared, chosen one first
  std::optional<double> planning_seconds;  ///< time for surveying and planning the whole program, if requested
  std::optional<WholePlan> whole;
  std::optional<WhyReport> why;  ///< if requested for a site
  std::optional<std::int64_t>
      enough_ranks;                  ///< if the program does not fit: the smallest sufficient number of ranks found
  std::string found;                 ///< how the chosen plan was found
  plan::PlanValue plan;              ///< the chosen plan, for --save-plan
  std::string paper_costs;           ///< if requested (paper_costs_text.h)
  std::string predictions;           ///< of all ranks, in the format of executables
  std::vector<RankReport> per_rank;  ///< the requested ranks
  std::vector<std::pair<codegen::SourceRange, std::string>> notes;
};

struct ReportRequest {
  plan::PlanInputs inputs;
  plan::PlanRequest plan;
  std::string memory_text;   ///< --memory as given
  std::string window_text;   ///< --window as given
  std::string why;           ///< name or number of a site whose candidate values are requested
  bool predictions = false;  ///< as text, for `tdslc compare`
  bool time_plan = false;
  bool paper_costs = false;
  codegen::WalkRequest walk;
  bool saves = false;         ///< the run would save or resume from checkpoints
  bool spill = true;          ///< tensors may be stored on disk or in their files
  bool suggest_ranks = true;  ///< if the program does not fit: look for a sufficient number of ranks
  std::function<bool(const std::string& input)>
      in_file;                       ///< true if any box of the input's file can be read at any time
  std::vector<std::int64_t> ranks;   ///< ranks whose totals are requested
  bool enumerate = false;            ///< lists their tasks and boxes individually
  std::string assumption;            ///< the assumption made, for the notes
  std::vector<std::string> reading;  ///< memory for reading files of entries, for the notes
};

/// Request for storage locations under --memory, which is enforced whatever the data.
[[nodiscard]] plan::HomeRequest home_request(const ReportRequest& request);

/// Interprets and plans the program like a run on the requested ranks; nothing is executed. Throws rt::RunError for
/// invalid options, plan files and inputs. Insufficient memory is not an error but part of the report.
[[nodiscard]] PlanReport make_report(const codegen::OperationProgram& program, const ReportRequest& request);

}  // namespace tdsl::tools
