#pragma once

#include <map>
#include <set>

#include "ir/graph/graph.h"

namespace tdsl::passes {

/// Separates stores to a tensor of a sparse type from its earlier elements, so that the stored values can be assembled
/// (ir::IterationRules::assembles) and combined with the old ones over the stored elements of both:
///
///     %4:f64[%0, sparse %0] = compute [e in 0..%1] (%2[e]) left [%3[e], e] base %5 combine sum
/// becomes
///     %6:f64[%0, sparse %0] = compute [e in 0..%1] (%2[e]) left [%3[e], e] combine sum
///     %4:f64[%0, sparse %0] = compute [i0 in 0..%0, i1 in 0..%0] (add(%5[i0, i1], %6[i0, i1]))
///
/// `=` replaces old values where it stores:
///
///     %4:f64[%0, sparse %0] = compute [i in 0..%0] (2.0) left [i, i] base %5
/// becomes
///     %6:f64[%0, sparse %0] = compute [i in 0..%0] (2.0) left [i, i]
///     %7:bool[%0, sparse %0] = compute [i in 0..%0] (true) left [i, i] combine any
///     %4:f64[%0, sparse %0] = compute [i0 in 0..%0, i1 in 0..%0] (select(%7[i0, i1], %6[i0, i1], %5[i0, i1]))
///
/// A base of zeros is dropped. Unchanged are other operators on a base, single elements stored in loops, which would
/// move all others in every iteration, and stores whose values read the base.
struct Assemblies {
  ir::Program program;
  std::map<ir::ValueId, std::set<ir::ValueId>> made;  ///< per changed result, the tensors that must be assembled
};
/// `refused`: results that stay as they are.
[[nodiscard]] Assemblies assemblies(const ir::Program& program, const std::set<ir::ValueId>& refused);

}  // namespace tdsl::passes
