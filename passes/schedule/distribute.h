#pragma once

#include <optional>
#include <vector>

#include "passes/schedule/dependences.h"

namespace tdsl::passes {

/// A loop around steps, or a statement.
struct Step {
  std::optional<std::size_t> loop = {};
  std::size_t statement = 0;  ///< without loop
  std::vector<Step> inner = {};
  bool independent = false;  ///< a loop around one statement, whose instances may read its variable as it was before
};

/// An order of all instances that respects the dependences: statements that depend on each other in a cycle share the
/// loops that carry the cycle; loops that carry none of it go inside. Every other statement has loops of its own, in
/// the order of the nest; so has one whose instances only read what later ones overwrite.
/// Nothing if there is no such order.
[[nodiscard]] std::optional<std::vector<Step>> distributed(const Scop& scop, const std::vector<Dependence>& all);

/// The same as text, `for 0 { S1; for 1 { S2 } }`, for tests.
[[nodiscard]] std::string text_of(const std::vector<Step>& steps);

}  // namespace tdsl::passes
