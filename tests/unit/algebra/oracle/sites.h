#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/algebra/places.h"
#include "tests/unit/algebra/oracle/evaluate.h"

namespace tdsl::ir::algebra {

/// Floats that one redistribution costs.
struct Traffic {
  Expr at;
  Index paper = 0;             ///< redistributed floats times the number of copies
  std::vector<Index> arrived;  ///< per site, floats of tuples that it did not already hold
  [[nodiscard]] Index moved() const;
};

struct SitesRun {
  std::map<int, std::vector<Tuples>> values;  ///< per node id: the tuples on each site
  std::vector<Traffic> traffic;

  [[nodiscard]] Index paper() const;
  [[nodiscard]] Index moved() const;
};

/// Runs the verified expressions on simulated sites: operators see only the tuples of their site. After each operator
/// checks that tuples are placed according to its layout; throws rt::InternalError if not.
[[nodiscard]] SitesRun run_on_sites(std::span<const Expr> roots, const Data& data, const Sites& sites);

/// The union of the sites' tuples: every key once. Throws rt::InternalError if copies differ.
[[nodiscard]] Tuples gathered(const std::vector<Tuples>& held);

/// Why the sites' tuples do not match the type; empty if they do.
[[nodiscard]] std::string misplaced(const std::vector<Tuples>& held, const RelationType& type, const Sites& sites);

}  // namespace tdsl::ir::algebra
