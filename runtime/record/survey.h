#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>

#include "runtime/plan/region/region.h"
#include "runtime/record/control.h"

// Note [Surveys]
// Before a program runs it is surveyed: its recording code is executed, and what it records is kept instead of planned.
// Nothing is computed, read, written, printed or checked, so what depends on data has to be guessed:
//
//   a loop       is recorded for its first iteration, with weight 1, and for a middle one, with weight T - 1, where T
//   is how often
//                it runs (10 where that comes from data). The second reads what the first made, so what a loop carries
//                from iteration to iteration is in the graph. Weights of nested loops multiply. More than four loops
//                deep, and once there are 4096 records, an iteration is recorded once, with weight T. A loop that
//                computes scalars alone runs, with its branches, for a million iterations at most; a survey that has
//                met a longer one does not wait for it again.
//   a branch     whose condition comes from data or changes in a loop is taken one way per run of the program, the way
//   taken less
//                before first; the program is surveyed again, up to eight times, until every branch met was taken both
//                ways, and the runs are united with equal weights.
//   a control    read gives 1, or true.
//   a choice     takes the form it is told to take; the region says which, and how many operations on elements that
//   takes. a fence      ends the survey: extents behind it come from data. So does an error of the program, which the
//   run will report.

namespace tdsl::record {

/// The most runs of the program in one survey.
inline constexpr int kSurveyRuns = 8;
/// How often a loop is taken to run whose trip count comes from data.
inline constexpr Index kUnknownTrips = 10;
/// Loops are recorded once when there are kManyRecords already, or kDeepLoops loops around them.
inline constexpr std::size_t kManyRecords = 4096;
inline constexpr int kDeepLoops = 4;
/// Iterations of a loop over scalars that are followed,
inline constexpr Index kScalarIterations = 1'000'000;
/// and those in runs of a survey after one that such a loop has ended.
inline constexpr Index kScalarIterationsAgain = 1'000;

/// Keeps what is recorded in a region.
class SurveySink : public Sink {
 public:
  SurveySink(plan::Region& region, int run) : region_(region), run_(run), first_(region.ops.size()) {}

  void segment(plan::Segment segment) override;
  [[nodiscard]] std::size_t records() const { return region_.ops.size() - first_; }
  [[nodiscard]] plan::Region& region() { return region_; }
  [[nodiscard]] double weight() const { return weight_; }
  /// The trip count of a loop is a guess.
  void guess() { region_.guessed = true; }
  /// Of what is recorded from now on.
  void set_weight(double weight) { weight_ = weight; }

 private:
  plan::Region& region_;
  int run_;
  std::size_t first_;
  double weight_ = 1;
  std::unordered_map<plan::TensorId, std::size_t> last_;  ///< the last operation of the region that mentions a tensor
};

/// How often branches have been taken, by site.
struct BranchVisits {
  int taken = 0;
  int passed = 0;
};
using Branches = std::map<int, BranchVisits>;

/// Unwinds the program at a fence.
struct SurveyOver {
  std::string reason;
  bool long_loop = false;  ///< the reason is a loop over scalars
};

/// One run of a survey.
class SurveyControl : public Control {
 public:
  SurveyControl(Recorder& recorder, SurveySink& sink, Branches& branches, const Forms& forms,
                Index scalar_limit = kScalarIterations, Index unknown_trips = kUnknownTrips)
      : recorder_(recorder),
        sink_(sink),
        branches_(branches),
        forms_(forms),
        scalar_limit_(scalar_limit),
        unknown_trips_(unknown_trips) {}

  void for_loop(Loop loop, Index begin, Index end, Index step, const Body& body) override;
  void while_loop(Loop loop, const Condition& condition, const Body& body) override;
  void if_else(Known known, int site, bool condition, const Branch& then_branch, const Branch& else_branch) override;
  void fence(int line) override;
  void choose(int site, std::span<const Branch> forms) override;
  bool read(ElementType type, std::span<std::byte> value) override;

 private:
  /// Records what `pass` does with `weight` times the weight so far.
  void weighted(double weight, const std::function<void()>& pass);
  /// Runs a loop over scalars: `turn(k)` is its iteration k, and false at the end.
  void follow_scalars(const std::function<bool(Index)>& turn);
  [[nodiscard]] bool once() const { return depth_ >= kDeepLoops || sink_.records() >= kManyRecords; }

  Recorder& recorder_;
  SurveySink& sink_;
  Branches& branches_;
  const Forms& forms_;
  std::map<int, bool> ways_;  ///< of branches in this run
  Index scalar_limit_;
  Index unknown_trips_;
  int depth_ = 0;
  int scalar_loops_ = 0;  ///< around what runs now
};

/// A program that records: it is called with where to record and what steers it.
using Recording = std::function<void(Recorder&, Control&)>;

/// Surveys a program with the forms given. Its errors, and all others, end the region. `unknown_trips`, at least 1: of
/// loops whose trip count comes from data.
[[nodiscard]] plan::Region survey(const Recording& program, const Forms& forms = {},
                                  Index unknown_trips = kUnknownTrips);

}  // namespace tdsl::record
