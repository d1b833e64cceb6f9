#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

// Sets of integer points, by the library isl. No type of isl leaves isl.cpp.

namespace tdsl::passes {

/// Answers questions about sets in isl's notation, `[n] -> { [i, j] : 0 <= i < n and j > i }`. After `operations`
/// elementary operations there are no more answers.
class IntegerSets {
 public:
  explicit IntegerSets(std::uint64_t operations);
  ~IntegerSets();
  IntegerSets(const IntegerSets&) = delete;
  IntegerSets& operator=(const IntegerSets&) = delete;

  /// True if this build has isl.
  [[nodiscard]] static bool available();
  /// True if the set has no points, for any values of the parameters. Nothing if the limit is reached.
  [[nodiscard]] std::optional<bool> is_empty(const std::string& set);
  /// True if all points of `a` are points of `b`. Nothing if the limit is reached.
  [[nodiscard]] std::optional<bool> is_subset(const std::string& a, const std::string& b);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
  std::map<std::string, std::optional<bool>> known_;  ///< answers of is_empty
};

}  // namespace tdsl::passes
