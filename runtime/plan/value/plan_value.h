#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/home.h"
#include "runtime/plan/space/layout.h"

namespace tdsl::plan {

struct Op;

/// What was decided for a site: layouts as text (layout.h), in the names of slot_names, so that they hold for every
/// operation recorded there.
struct Decision {
  std::string kind;            ///< name_of(OpClass)
  std::string name;            ///< the statement's target, for people
  std::string work;            ///< of the task space: output dimensions and reduce labels
  std::string result;          ///< of the output, where `work` cuts reduce labels: where partial results meet
  std::string copy;            ///< of a copy of the result that is kept; empty: none
  std::vector<int> readers{};  ///< sites that read the copy
  friend bool operator==(const Decision&, const Decision&) = default;
};

/// A plan as a value: printed, parsed and imposed. Sites without a decision are planned by themselves, when they are
/// recorded.
struct PlanValue {
  std::string program;
  std::uint64_t region = 0;  ///< hash of the region it was made for
  Index ranks = 1;
  Mesh mesh;
  std::string schedule;
  std::map<int, Decision> at;
  std::map<int, int> forms;  ///< by site: which of several forms runs there
  Index memory =
      0;           ///< per rank, within which it is planned where not everything is at home in memory; 0: everything is
  Index disk = 0;  ///< most bytes of a rank on disk at once
  Index reserve = 0;             ///< of the memory, for what other ranks ask of it
  std::map<int, Housing> homes;  ///< by site
  friend bool operator==(const PlanValue&, const PlanValue&) = default;
};

/// Distinct names of an operation's output dimensions, then of its reduce labels.
[[nodiscard]] std::vector<std::string> slot_names(const Op& op);
/// Of its output dimensions alone.
[[nodiscard]] std::vector<std::string> result_names(const Op& op);

/// Lines for the plan, one per site, and `choose SITE FORM` where there are several forms; reading it back gives an
/// equal value.
[[nodiscard]] std::string print(const PlanValue& plan);
/// Throws std::runtime_error with the line's number.
[[nodiscard]] PlanValue parse_plan(std::string_view text);

/// A plan and where it was read: for messages.
struct PlanText {
  PlanValue plan;
  std::map<int, std::size_t> lines;  ///< by site
};
[[nodiscard]] PlanText read_plan(std::string_view text);
/// Its lines of the program, the ranks, and the mesh.
inline constexpr std::size_t kProgramLine = 2;
inline constexpr std::size_t kMeshLine = 3;

}  // namespace tdsl::plan
