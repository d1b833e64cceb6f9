#pragma once

#include <map>
#include <vector>

#include "runtime/plan/cost/shares.h"
#include "runtime/plan/planner.h"
#include "runtime/plan/region/region.h"

// The choices for the operations of a region. Decisions belong to sites: all operations recorded at one site share
// them, and an operation with a base shares its base's layout.

namespace tdsl::plan {

/// Redundant work is limited to small operations: up to this many points and floating-point operations, with a result
/// of up to this many elements, may run on every rank.
inline constexpr double kRedundantPoints = 1 << 22;
inline constexpr double kRedundantFlops = 1 << 27;
inline constexpr Index kRedundantElements = 1 << 16;

/// The choices of one site.
struct SiteChoices {
  int site = 0;
  std::size_t op = 0;            ///< its largest operation, in the region
  std::vector<std::size_t> ops;  ///< all its operations
  bool fixed = false;            ///< the recorder fixes where it runs
  bool splits = false;  ///< reduce labels may be split: `works` has layouts of its own; otherwise the work has the
                        ///< layout of the result
  std::vector<Layout> works;  ///< of the task space
  int place = -1;             ///< its index in Choices::places
};

/// The layout of a result, and of a kept copy for its readers, if any.
struct Place {
  Layout layout;
  std::optional<Layout> copy;
};

/// Possible places of the results of one site, or of several that share one.
struct PlaceChoices {
  std::vector<Place> places;
};

/// A site's allowed layouts if the user requested some; empty lists leave it free.
struct SiteLayouts {
  std::vector<Layout> works;    ///< of the task space
  std::vector<Layout> results;  ///< of the result, if the reduction is split
};

struct ChoiceLimits {
  bool copies = false;                   ///< tensors that are read more than once may have a kept copy,
  std::vector<std::vector<int>> copied;  ///< for these original places: per entry of Choices::places, indices of places
  std::size_t most_places = 512;         ///< copies that would add more places are omitted
  std::map<int, SiteLayouts> asked{};    ///< by site
};

struct Choices {
  std::vector<SiteChoices> sites;  ///< in region order
  std::vector<PlaceChoices> places;
};

/// True if an operation's reduction may be computed as partial results to be combined.
[[nodiscard]] bool may_split(const Op& op);

/// The prescribed tiles along the slots of an operation's task space: by `--tile`, annotations or `--reproducible`.
[[nodiscard]] counting::CutSpace task_space(const Op& op, const PlanInputs& inputs);

/// If processors differ, only operations without arithmetic may be repeated on several ranks; scalars always may.
[[nodiscard]] bool may_repeat(const Op& op, const PlanInputs& inputs);
/// The maximum number of shares per slot of the task space, including reduce labels if they may be split.
[[nodiscard]] std::vector<Index> most_shares(const Op& op, const PlanInputs& inputs, bool reduced);

[[nodiscard]] Choices choices_of(const Region& region, const PlanInputs& inputs, const Mesh& mesh,
                                 const ChoiceLimits& limits);

}  // namespace tdsl::plan
