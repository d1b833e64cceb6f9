#pragma once

#include <map>
#include <vector>

#include "runtime/plan/cost/shares.h"
#include "runtime/plan/planner.h"
#include "runtime/plan/region/region.h"

// What can be chosen for the operations of a region. Decisions belong to sites: all operations recorded at one place
// share them, and an operation with a base lies where its base does.

namespace tdsl::plan {

/// Redundant work is for small things only: an operation of up to this many points and floating-point operations, with
/// a result of up to this many elements, may run on every rank.
inline constexpr double kRedundantPoints = 1 << 22;
inline constexpr double kRedundantFlops = 1 << 27;
inline constexpr Index kRedundantElements = 1 << 16;

/// The choices of one site.
struct SiteChoices {
  int site = 0;
  std::size_t op = 0;            ///< its largest operation, in the region
  std::vector<std::size_t> ops;  ///< all of them
  bool fixed = false;            ///< the recorder says where it runs
  bool splits =
      false;  ///< reduce labels may be cut: `works` are layouts of its own, else it works where its result lies
  std::vector<Layout> works;  ///< of the task space
  int place = -1;             ///< the number in Choices::places
};

/// Where a result lies, and a copy of it that is kept for its readers, if any.
struct Place {
  Layout layout;
  std::optional<Layout> copy;
};

/// Places for the results of one site, or of several that share one.
struct PlaceChoices {
  std::vector<Place> places;
};

/// What a site may choose from where somebody has asked for it; empty lists leave it free.
struct SiteLayouts {
  std::vector<Layout> works;    ///< of the task space
  std::vector<Layout> results;  ///< of the result, where a reduction is split
};

struct ChoiceLimits {
  bool copies = false;                   ///< tensors that are read more than once may have a kept copy,
  std::vector<std::vector<int>> copied;  ///< where they lie so: per entry of Choices::places, the numbers of places
  std::size_t most_places = 512;         ///< copies that would give more of them are left out
  std::map<int, SiteLayouts> asked{};    ///< by site
};

struct Choices {
  std::vector<SiteChoices> sites;  ///< by the order of the region
  std::vector<PlaceChoices> places;
};

/// Whether an operation's reduction may be computed as partial results that meet.
[[nodiscard]] bool may_split(const Op& op);

/// The tiles that are given along the slots of an operation's task space: by `--tile`, annotations or `--reproducible`.
[[nodiscard]] counting::CutSpace task_space(const Op& op, const PlanInputs& inputs);

/// Where processors differ, only what is no arithmetic may be done on several ranks: scalars always are.
[[nodiscard]] bool may_repeat(const Op& op, const PlanInputs& inputs);
/// The most shares of every slot of the task space, reduce labels included if they may be cut.
[[nodiscard]] std::vector<Index> most_shares(const Op& op, const PlanInputs& inputs, bool reduced);

[[nodiscard]] Choices choices_of(const Region& region, const PlanInputs& inputs, const Mesh& mesh,
                                 const ChoiceLimits& limits);

}  // namespace tdsl::plan
