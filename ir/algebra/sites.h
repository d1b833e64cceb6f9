#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/algebra/evaluate.h"
#include "ir/algebra/places.h"

namespace tdsl::ir::algebra {

/// Floats that one redistribution costs.
struct Traffic {
  Expr at;
  Index paper = 0;             ///< the floats redistributed times the copies made of them
  std::vector<Index> arrived;  ///< per site, the floats of tuples that it did not hold
  [[nodiscard]] Index moved() const;
};

struct SitesRun {
  std::map<int, std::vector<Tuples>> values;  ///< of every node, by its id: what each site holds
  std::vector<Traffic> traffic;

  [[nodiscard]] Index paper() const;
  [[nodiscard]] Index moved() const;
};

/// Runs the expressions, which must be verified, on simulated sites: operators see what their site holds. Checks after
/// each one that tuples are where its layout says; throws rt::InternalError if not.
[[nodiscard]] SitesRun run_on_sites(std::span<const Expr> roots, const Data& data, const Sites& sites);

/// The relation that sites hold together: every key once. Throws rt::InternalError if copies differ.
[[nodiscard]] Tuples gathered(const std::vector<Tuples>& held);

/// Why what sites hold is not of the type; empty if it is.
[[nodiscard]] std::string misplaced(const std::vector<Tuples>& held, const RelationType& type, const Sites& sites);

}  // namespace tdsl::ir::algebra
