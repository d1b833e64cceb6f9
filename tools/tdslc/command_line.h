#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tdsl::tools {

enum class Command : std::uint8_t {
  kRun,
  kBuild,
  kCheck,
  kEval,
  kEmit,
  kExplain,
  kPasses,
  kFormat,
  kDoctor,
  kCompare,
  kVerify,
  kSubmit,
  kReport
};

/// What `submit` is asked besides.
struct JobOptions {
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> iterations;  ///< of loops whose trip count comes from data
  std::string memory;                      ///< of a node
  std::string time;
  std::string site;                 ///< the profile's file; of `doctor` too
  std::string script;               ///< where the batch script goes
  std::vector<std::string> sweeps;  ///< NAME=VALUE,VALUE
  bool checkpoint = false;
  bool wait = false;
  bool dry_run = false;
};

/// A parsed command line of tdslc. What comes after `--` is the program's.
struct CommandLine {
  Command command = Command::kRun;
  std::string program;  ///< path of the .tdsl file
  std::vector<std::string>
      files;  ///< fmt: the paths, "-" for standard input; compare: plan and statistics; report: statistics and trace
  std::optional<std::int64_t> ranks;
  std::string output;  ///< -o
  std::vector<std::string> program_arguments;

  // compiling
  bool native = false;
  bool no_cache = false;
  bool oversubscribe = false;  ///< run, verify: however many ranks a core gets
  bool library = false;        ///< build: a library that others call
  int level = 2;
  std::vector<std::string> disabled_passes;
  std::string fusion;                 ///< empty: by cost
  std::vector<std::string> warnings;  ///< -W: no-ID each
  std::vector<std::string> dump_after;
  bool time_passes = false;
  bool time_plan = false;
  bool line_directives = false;
  std::string project;

  // planning (explain, or handed on to the program)
  std::vector<std::string> set;
  std::string tile;
  std::optional<int> threads;
  std::string memory;
  std::string window;
  std::string schedule;
  std::string use_plan;  ///< explain: files
  std::string save_plan;
  std::string plan;  ///< of predictions, as executables write them
  std::vector<std::string> place;
  std::string why;    ///< of explain: the site whose values are shown
  std::string stage;  ///< of explain: what is shown instead of plans
  bool reproducible = false;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> ranks_per_node;

  JobOptions job;
  bool check_site = false;  ///< doctor: the profile of jobs
  std::string source;       ///< report: the program's text
  std::string spill;        ///< doctor: a folder whose disk is measured
  std::string hosts;        ///< doctor: two machines, separated by a comma

  // form of the answer
  bool json = false;
  bool dot = false;  ///< explain: for Graphviz
  bool types = false;
  std::string bounds;       ///< eval: directory for NAME.bounds.npy
  bool check_only = false;  ///< fmt: name what would change, write nothing
};

/// What main does without a command: the exit code of `--help`, `--version` or a usage error, already printed.
struct Stop {
  int exit_code = 0;
};

/// Parses the arguments after the program's name. Throws Stop.
[[nodiscard]] CommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace tdsl::tools
