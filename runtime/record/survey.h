#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/plan/region/region.h"
#include "runtime/record/control.h"

// Note [Surveys] Before a program runs it is surveyed: its recording code is executed, and the recorded operations are
// stored instead of planned. Nothing is computed, read, written, printed or checked, so everything data-dependent is
// guessed:
//
//   a loop       is recorded for its first iteration, with weight 1, and for a middle one, with weight T - 1, where T
//   is
//                its trip count (10 if data-dependent). The second reads results of the first, so dependences carried
//                between iterations are in the graph. Weights of nested loops multiply. At more than four levels, or
//                after 4096 records, a single iteration is recorded, with weight T. A loop that only computes scalars
//                runs with its branches for up to a million iterations; later runs of a survey that found a longer one
//                do not wait for it again.
//   a branch     on data, or one that varies within a loop, goes one way per run of the program: a way not taken yet,
//                else the way that leads to branches with such ways, else the less frequent one. The program is
//                surveyed again, up to eight times, until every branch was taken both ways, and the runs are merged
//                with equal weights. If some way remains, the region is not whole.
//   a control    read returns 1, or true.
//   a choice     takes the prescribed form; the region stores the form and its number of operations on elements.
//   a fence      ends the survey: later extents depend on data. So does a program error, which the run will report.

namespace tdsl::record {

/// Limit on the runs of the program in one survey.
inline constexpr int kSurveyRuns = 8;
/// Assumed trip count of a data-dependent loop.
inline constexpr Index kUnknownTrips = 10;
/// Loops are recorded for one iteration only after kManyRecords records, or inside kDeepLoops loops.
inline constexpr std::size_t kManyRecords = 4096;
inline constexpr int kDeepLoops = 4;
/// Limit on the executed iterations of a loop over scalars,
inline constexpr Index kScalarIterations = 1'000'000;
/// and in further runs of a survey after such a loop hit the limit.
inline constexpr Index kScalarIterationsAgain = 1'000;

/// Stores recorded operations in a region.
class SurveySink : public Sink {
 public:
  SurveySink(plan::Region& region, int run) : region_(region), run_(run), first_(region.ops.size()) {}

  void segment(plan::Segment segment) override;
  [[nodiscard]] std::size_t records() const { return region_.ops.size() - first_; }
  [[nodiscard]] plan::Region& region() { return region_; }
  [[nodiscard]] double weight() const { return weight_; }
  /// Marks that a loop's trip count is a guess.
  void guess() { region_.guessed = true; }
  /// Sets the weight of operations recorded from now on.
  void set_weight(double weight) { weight_ = weight; }

 private:
  plan::Region& region_;
  int run_;
  std::size_t first_;
  double weight_ = 1;
  std::unordered_map<plan::TensorId, std::size_t> last_;  ///< the last operation of the region that uses a tensor
};

/// How often a branch went each way, and the branches met there: first the else side, then the then side.
struct BranchVisits {
  std::array<int, 2> visits{};
  std::array<std::set<int>, 2> inside;  ///< sites, those of nested branches included
  [[nodiscard]] bool open() const { return visits[0] == 0 || visits[1] == 0; }
};

/// The branches of all runs of a survey, by site.
class Branches {
 public:
  /// The way of the branch in the next run: true for the then side.
  [[nodiscard]] bool next_way(int site) const;
  /// Some branch went only one way.
  [[nodiscard]] bool any_open() const;
  BranchVisits& operator[](int site) { return at_[site]; }

 private:
  /// Some branch on this side went only one way.
  [[nodiscard]] bool leads_to_open(const BranchVisits& branch, bool way) const;
  std::map<int, BranchVisits> at_;
};

/// Thrown to unwind the program at a fence.
struct SurveyOver {
  std::string reason;
  bool long_loop = false;  ///< caused by a loop over scalars
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
  /// Records `pass` with the current weight multiplied by `weight`.
  void weighted(double weight, const std::function<void()>& pass);
  /// Runs a loop over scalars: `turn(k)` runs iteration k, and returns false at the end.
  void follow_scalars(const std::function<bool(Index)>& turn);
  [[nodiscard]] bool once() const { return depth_ >= kDeepLoops || sink_.records() >= kManyRecords; }

  Recorder& recorder_;
  SurveySink& sink_;
  Branches& branches_;
  const Forms& forms_;
  std::map<int, bool> ways_;                  ///< of branches in this run
  std::vector<std::pair<int, bool>> around_;  ///< branches around the code that runs now, and their ways
  Index scalar_limit_;
  Index unknown_trips_;
  int depth_ = 0;
  int scalar_loops_ = 0;  ///< around the code that runs now
};

/// A program that records: called with the recorder and the control to use.
using Recording = std::function<void(Recorder&, Control&)>;

/// Surveys a program with the given forms. Program errors, like all others, end the region. `unknown_trips`, at least
/// 1: assumed trip count of data-dependent loops.
[[nodiscard]] plan::Region survey(const Recording& program, const Forms& forms = {},
                                  Index unknown_trips = kUnknownTrips);

}  // namespace tdsl::record
