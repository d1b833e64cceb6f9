#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/home.h"
#include "runtime/plan/op.h"
#include "runtime/plan/space/layout.h"

namespace tdsl::plan {

// Note [Turning decisions] A site has one decision. In a loop, execution k of the site (counted from 0 by the planner,
// equally on all ranks) follows it with every rank replaced by (rank + turn k) mod ranks: schedules whose tasks move by
// the same number of ranks from one level to the next keep their balance with a single line of text. Executions that
// are equal modulo the number of ranks are one class: the planner memoizes its decisions per class. Only owners turn,
// never cuts, so results have the same bits in every class, and a run that is resumed from a checkpoint may count from
// 0 again.

/// The decision for a site: layouts as text (layout.h), in the names of slot_names, so that they apply to every
/// operation recorded there.
struct Decision {
  std::string kind;            ///< name_of(OpClass)
  std::string name;            ///< the statement's target, for messages
  std::string work;            ///< of the task space: output dimensions and reduce labels
  std::string result;          ///< of the output, if `work` splits reduce labels: where partial results are combined
  std::string copy;            ///< of a kept copy of the result; empty: none
  std::vector<int> readers{};  ///< sites that read the copy
  Index turn = 0;              ///< ranks by which work and result move with every execution (Note [Turning decisions])
  friend bool operator==(const Decision&, const Decision&) = default;
};

/// A plan as a value: printed, parsed and imposed. Sites without a decision are planned individually, when they are
/// recorded.
struct PlanValue {
  std::string program;
  std::uint64_t region = 0;  ///< hash of the region it was made for
  Index ranks = 1;
  Mesh mesh;
  std::string schedule;
  std::map<int, Decision> at;
  std::map<int, int> forms;  ///< by site: the variant that runs there
  Index memory = 0;   ///< memory limit per rank used for planning if some tensors are not stored in memory; 0: all are
  Index disk = 0;     ///< peak bytes on disk of a rank
  Index reserve = 0;  ///< part of the memory reserved for requests of other ranks
  std::map<int, Housing> homes;  ///< by site
  friend bool operator==(const PlanValue&, const PlanValue&) = default;
};

/// Distinct names of an operation's output dimensions, then of its reduce labels.
[[nodiscard]] std::vector<std::string> slot_names(const Op& op);
/// Names of its output dimensions alone.
[[nodiscard]] std::vector<std::string> result_names(const Op& op);

/// `mesh a:2/6 b:2/3 c:3/1*`: size / stride of every axis, with a star for axes within nodes.
[[nodiscard]] std::string mesh_line(const Mesh& mesh);
/// Throws std::runtime_error("line NUMBER: ...").
[[nodiscard]] Mesh parse_mesh_line(std::string_view text, std::size_t number);

/// The plan's lines, one per site, plus `choose SITE FORM` for sites with several variants; parsing them gives an equal
/// value.
[[nodiscard]] std::string print(const PlanValue& plan);
/// Throws std::runtime_error with the line number.
[[nodiscard]] PlanValue parse_plan(std::string_view text);

/// A plan and its source location, for messages.
struct PlanText {
  PlanValue plan;
  std::map<int, std::size_t> lines;  ///< by site
};
[[nodiscard]] PlanText read_plan(std::string_view text);
/// Line numbers of the program, the ranks, and the mesh.
inline constexpr std::size_t kProgramLine = 2;
inline constexpr std::size_t kMeshLine = 3;

}  // namespace tdsl::plan
