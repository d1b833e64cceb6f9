#include "runtime/app/run/fitting_start.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/app/options/options.h"
#include "runtime/base/number_format.h"

namespace tdsl::rt {

namespace {

/// Maximum number of steps in the search for the least memory; the result may be slightly too large.
constexpr int kLeastSteps = 16;

/// If operands and results exceed the memory by this factor, no plan fits, and no number of ranks worth searching for.
constexpr double kHopeless = 64;

class FitSearch {
 public:
  explicit FitSearch(const StartRequest& request)
      : request_(request), given_(request.inputs.memory > 0 && request.limit.bytes == 0) {}

  FittingStart run() {
    FittingStart found{start_with(request_.inputs), 0};
    const plan::Index most = given_ ? request_.inputs.memory : request_.limit.bytes;
    if (most == 0 || plan::most_need(found.start.region, request_.inputs.threads) <= static_cast<double>(most))
      return found;
    plan::MemoryNeed need = need_of(found.start, request_.inputs);
    if (need.bytes <= most) return found;
    const bool spills = request_.disk || request_.in_file;
    if (static_cast<double>(need.bytes - need.step) > kHopeless * static_cast<double>(most))
      refuse(need, std::nullopt, most);
    if (!given_) {
      plan::PlanInputs lean = request_.inputs;
      lean.memory = most;
      found = {start_with(lean), most};
      need = need_of(found.start, lean);
      if (need.bytes <= most) return found;
    }
    if (spills && find_homes(found, most)) return found;
    need = least(need);
    refuse(need, ranks_enough(need, most), most);
  }

  /// Smallest sufficient values of --memory.
  EnoughMemory least_given() {
    EnoughMemory found{least(need_of(start_with(request_.inputs), request_.inputs)).bytes, std::nullopt};
    if (!request_.disk && !request_.in_file) return found;
    plan::Index bytes = request_.inputs.memory;
    for (int step = 0; step < kLeastSteps && !late() && bytes < found.in_memory; ++step) {
      plan::PlanInputs lean = request_.inputs;
      lean.memory = bytes;
      const plan::FoundHomes homes = homes_of(start_with(lean), lean);
      if (homes.fits) {
        found.on_disk = bytes;
        break;
      }
      bytes = std::max(bytes + 1, homes.need.bytes + homes.reserve);
    }
    return found;
  }

 private:
  /// True once the time limit for computing the numbers in the message has passed.
  [[nodiscard]] bool late() const { return std::chrono::steady_clock::now() - begin_ > request_.patience; }

  [[nodiscard]] record::Start start_with(const plan::PlanInputs& inputs) const {
    return record::start_of(request_.program(inputs), inputs, request_.plan);
  }

  /// --memory is enforced whatever the data; a system limit is checked against expected sizes, and watched during the
  /// run.
  [[nodiscard]] plan::MemoryNeed need_of(const record::Start& start, const plan::PlanInputs& inputs) const {
    return given_ ? plan::certain_need(start.region, inputs, start.plan)
                  : plan::expected_need(start.region, inputs, start.plan);
  }

  [[nodiscard]] plan::FoundHomes homes_of(const record::Start& start, const plan::PlanInputs& inputs) const {
    plan::HomeRequest request;
    request.disk = request_.disk;
    request.certain = given_;
    request.saves = request_.saves;
    request.late = [this] { return late(); };
    if (request_.in_file) {
      request.in_file = [this](const std::string& input, plan::Index row) {
        return row >= plan::kLeastFileRow && request_.in_file(input);
      };
    }
    return plan::find_homes_and_room(start.region, inputs, start.plan, request);
  }

  /// Called when no plan fits in memory. Searches for one with tensors on disk and in input files; if there is none,
  /// `disk_need_` has what that would take.
  bool find_homes(FittingStart& found, plan::Index most) {
    plan::PlanInputs lean = request_.inputs;
    lean.memory = most;
    plan::FoundHomes homes = homes_of(found.start, lean);
    if (!homes.fits) {
      disk_need_ = std::move(homes.need);
      return false;
    }
    plan::PlanValue value = found.start.plan != nullptr ? *found.start.plan : found.start.saved;
    value.memory = homes.memory;
    value.disk = homes.need.disk;
    value.reserve = homes.reserve;
    value.homes = homes.homes;
    found.start.saved = value;
    found.start.plan = std::make_shared<const plan::PlanValue>(std::move(value));
    found.memory = homes.memory;
    found.homes = std::move(homes);
    return true;
  }

  /// How spilling to disk changes the verdict, as text.
  [[nodiscard]] std::string disk_text() const {
    if (!request_.disk) return request_.no_disk.empty() ? "" : "; no tensor can be on disk: " + request_.no_disk;
    return disk_need_ ? "; with tensors on disk it needs " +
                            shown_size(disk_need_->bytes, given_ ? request_.memory_text : "") + ", for `" +
                            disk_need_->name + "`"
                      : "";
  }

  /// The least sufficient memory on these ranks.
  [[nodiscard]] plan::MemoryNeed least(plan::MemoryNeed need) const {
    plan::PlanInputs more = request_.inputs;
    for (int step = 0; step < kLeastSteps && !late(); ++step) {
      more.memory = need.bytes;
      plan::MemoryNeed next = need_of(start_with(more), more);
      if (next.bytes <= more.memory) return need;
      need = std::move(next);
    }
    return need;
  }

  [[nodiscard]] std::optional<plan::Index> ranks_enough(const plan::MemoryNeed& need, plan::Index most) const {
    if (request_.plan.use || !request_.plan.place.empty())
      return std::nullopt;  // an imposed plan is for this number of ranks
    const plan::PlanInputs& inputs = request_.inputs;
    // Ranks on a node share its memory, so more ranks means more nodes. --memory is per rank.
    const plan::Index unit = given_ ? 1 : request_.ranks_of_node;
    const double shared =
        static_cast<double>(need.bytes - need.step) * static_cast<double>(inputs.ranks) / static_cast<double>(most);
    bool given_up = false;
    const auto fits = [&](plan::Index ranks) {
      given_up = given_up || late();
      if (given_up) return false;
      plan::PlanInputs more = inputs;
      more.ranks = ranks;
      more.ranks_per_node = given_ && inputs.ranks_per_node == inputs.ranks ? ranks : request_.ranks_of_node;
      more.memory = most;
      more.settle_nodes();
      try {
        return need_of(start_with(more), more).bytes <= most;
      } catch (const RunError&) { return false; }  // the requested schedule has no plan for these ranks
    };
    const std::optional<plan::Index> found = plan::enough_ranks(fits, inputs.ranks, unit, shared);
    return given_up ? std::nullopt : found;
  }

  [[noreturn]] void refuse(const plan::MemoryNeed& need, std::optional<plan::Index> ranks, plan::Index most) const {
    std::string text;
    if (given_) {
      text = too_little_memory(need, most, request_.memory_text);
      if (ranks) text += ", or start it on " + std::to_string(*ranks) + " ranks";
    } else {
      text = "`" + need.name + "` does not fit into memory: it needs at least " + format_bytes(need.bytes) +
             " on a rank (" + format_bytes(need.bytes - need.step) + " of operands, results and other live tensors, " +
             format_bytes(need.step) + " received or copied at once), which may have " + format_bytes(most) + ", as " +
             request_.limit.source + "; give " + wanted(need.bytes);
      if (ranks)
        text += ", or start it on " + std::to_string(*ranks / request_.ranks_of_node) + " such nodes with " +
                std::to_string(*ranks) + " ranks";
    }
    throw RunError(request_.place(need.line), text + disk_text() + other_schedules(request_.plan) + " [out-of-memory]",
                   ExitCode::kUsage);
  }

  /// Memory a node needs, in whole MiB: process sizes vary from run to run.
  [[nodiscard]] std::string wanted(plan::Index bytes) const {
    const RankMemory& limit = request_.limit;
    const double most = static_cast<double>(bytes) / kUsableMemory;
    const double rank =
        std::min(most * kPartForBlocks, most + static_cast<double>(limit.beside + (std::int64_t{4} << 20)));
    const auto mebibytes = static_cast<std::int64_t>(rank * limit.ranks / (1 << 20)) + 1;
    return "at least " + std::to_string(mebibytes) + " MiB " +
           (limit.ranks > 1 ? "for the " + std::to_string(limit.ranks) + " ranks of a node" : "for it");
  }

  const StartRequest& request_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<plan::MemoryNeed> disk_need_;
  bool given_;  ///< --memory applies, not a system limit
};

}  // namespace

FittingStart fitting_start(const StartRequest& request) { return FitSearch(request).run(); }

EnoughMemory enough_memory(const StartRequest& request, const record::Start& found) {
  StartRequest least = request;
  const auto own = static_cast<double>(plan::expected_need(found.region, request.inputs, found.plan).bytes);
  least.inputs.memory = std::max(plan::Index{1}, static_cast<plan::Index>(own / kHopeless));
  least.limit = {};
  return FitSearch(least).least_given();
}

std::string too_little_memory(const plan::MemoryNeed& need, plan::Index given, std::string_view like) {
  return "--memory " + given_size(given, like) + " is too small: `" + need.name + "` needs " +
         shown_size(need.bytes, like) + " on a rank: " + shown_size(need.bytes - need.step, like) +
         " of operands, results and other live tensors, " + shown_size(need.step, like) +
         " received or copied at once; give at least --memory " + option_size(need.bytes, like);
}

std::string too_small_window(plan::Index largest_step, plan::Index given, std::string_view like) {
  return "--window " + given_size(given, like) + " is too small: the largest step of this program needs " +
         shown_size(largest_step, like) + "; the smallest legal value is --window " + option_size(largest_step, like);
}

std::string other_schedules(const plan::PlanRequest& request) {
  const bool whole = request.schedule != nullptr && request.schedule->whole;
  return whole ? "; --schedule=auto may need less" : "";
}

std::optional<plan::MemoryNeed> need_beyond_limit(const StartRequest& request, const std::string& plan) {
  // The margin covers a process a few pages larger than the earlier one.
  const plan::Index most = request.limit.most;
  if (most == 0) return std::nullopt;
  std::shared_ptr<const plan::PlanValue> value;
  if (!plan.empty()) value = std::make_shared<const plan::PlanValue>(plan::parse_plan(plan));
  plan::PlanInputs inputs = request.inputs;
  if (value && value->memory > 0) {
    inputs.memory = value->memory;
    inputs.homes = value->homes;
  }
  const plan::Region region =
      record::survey(request.program(inputs), value ? record::Forms{value->forms} : record::Forms{});
  if (plan::most_need(region, inputs.threads) <= static_cast<double>(most)) return std::nullopt;
  plan::MemoryNeed need = plan::expected_need(region, inputs, value);
  if (value) need.bytes += value->reserve;
  return need.bytes > most ? std::optional(std::move(need)) : std::nullopt;
}

}  // namespace tdsl::rt
