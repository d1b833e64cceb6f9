#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/region/plan_price.h"
#include "runtime/plan/region/plan_search.h"

// The alternatives to a searched plan: other ways to decide a site, each with the rest of the program planned around
// it.

namespace tdsl::plan {

/// One way to decide a site.
struct SiteValue {
  std::string layout;  ///< as in the plan's text: `i:ab -> k:ab`, with the kept copy
  bool chosen = false;
  bool possible = true;  ///< false: no plan of the rest is compatible with it
  bool fits = true;      ///< within the memory limit; if not:
  double excess = 0;     ///< bytes above the limit
  int worst = -1;        ///< at this operation of the region
  double seconds = 0;    ///< of the whole program with this value, by the search's model
  PlanPrice price;       ///< of the planned operations, if possible
};

class SiteValues {
 public:
  /// `found` is a searched plan of the region. All arguments must outlive this.
  SiteValues(const Region& region, const PlanInputs& inputs, const FoundPlan& found);

  /// Every value of the site: the chosen one, then those that fit, the fastest first. At most `most` of them, selected
  /// by cost before the rest is planned around them; `left_out` receives the number of the others. Empty: the site has
  /// no choice.
  [[nodiscard]] std::vector<SiteValue> values(int site, std::size_t most, std::size_t& left_out) const;
  /// The fastest feasible value that differs from the chosen one in more than the order of axes and the number of a
  /// rank.
  [[nodiscard]] std::optional<SiteValue> runner_up(int site) const;

 private:
  struct Candidate {
    int variable = 0;
    int value = 0;
    double least = 0;  ///< seconds, ignoring memory
  };
  [[nodiscard]] std::optional<std::size_t> number_of(int site) const;
  [[nodiscard]] std::vector<Candidate> candidates(std::size_t site) const;
  [[nodiscard]] SiteValue valued(std::size_t site, const Candidate& candidate) const;
  [[nodiscard]] SiteValue chosen(std::size_t site) const;
  [[nodiscard]] SiteValue as_value(std::size_t site, const Assignment& x) const;
  [[nodiscard]] std::vector<Layout> layouts_of(std::size_t site, const Assignment& x) const;
  [[nodiscard]] bool alike(std::size_t site, const Assignment& x, const Candidate& candidate) const;

  const Region& region_;
  const PlanInputs& inputs_;
  const FoundPlan& found_;
  RegionNetwork network_;
  MemoryLimits limits_;
  std::optional<Marginals> marginals_;  ///< if tables stay small
};

/// The text of a decision: `i:ab -> k:ab keep everywhere`.
[[nodiscard]] std::string text_of(const Decision& decision);

}  // namespace tdsl::plan
