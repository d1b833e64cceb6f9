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
  kReport,
  kPlot,
  kImport,
  kNew,
  kMpi,
  kLanguageServer,
  kConfigure
};

/// Options of `submit` only.
struct JobOptions {
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> iterations;  ///< of loops with data-dependent trip counts
  std::string memory;                      ///< per node
  std::string time;
  std::string site;                 ///< profile file; also for `doctor`
  std::string script;               ///< output file of the batch script
  std::vector<std::string> sweeps;  ///< NAME=VALUE,VALUE
  bool checkpoint = false;
  bool wait = false;
  bool dry_run = false;
};

/// A parsed command line of tdslc. Arguments after `--` are the program's; all of `import` are the importer's.
struct CommandLine {
  Command command = Command::kRun;
  std::string program;  ///< path of the .tdsl file; new: the folder
  std::string from;     ///< new: the template
  std::vector<std::string>
      files;  ///< fmt: files, "-" for standard input; compare: plan and statistics; report: statistics and trace
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> last_ranks;  ///< explain: `-n A..B`, of which `ranks` is A
  std::string output;                      ///< -o
  std::vector<std::string> program_arguments;

  // compilation
  bool native = false;
  bool no_cache = false;
  int jobs = 0;                ///< compilers at the same time; 0: as many as there are cores, or CI_JOBS
  bool oversubscribe = false;  ///< run, verify: allows any number of ranks per core
  bool library = false;        ///< build: a library instead of an executable
  std::string depfile;         ///< build: the files that it was compiled from, as a rule of make
  bool fortran = false;        ///< build --library: also a Fortran module
  int level = 2;
  std::vector<std::string> disabled_passes;
  std::string fusion;                 ///< empty: cost-based
  std::vector<std::string> warnings;  ///< -W options, each no-ID
  std::vector<std::string> dump_after;
  bool time_passes = false;
  std::string time_build;  ///< `text` or `json`: the time of every part of a build; empty: not shown
  bool time_plan = false;
  bool line_directives = false;
  bool counts = false;  ///< emit: the number of kernels instead of the code
  std::string project;

  // planning (explain, or passed on to the program)
  std::vector<std::string> set;
  std::string tile;
  std::optional<int> threads;
  std::string memory;
  std::string window;
  std::string schedule;
  std::string node_grid;
  std::string use_plan;  ///< explain: input and output files
  std::string save_plan;
  std::string plan;  ///< predictions in the format of executables
  std::vector<std::string> place;
  std::string why;    ///< explain: the site whose candidate values are shown
  std::string costs;  ///< explain: `papers`, whose models are shown in addition
  std::string stage;  ///< explain: stage to show instead of plans
  bool reproducible = false;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> ranks_per_node;

  JobOptions job;
  bool check_site = false;             ///< doctor: checks the profile for jobs
  std::string source;                  ///< report: the program's source file
  std::string slice;                   ///< plot: `[:, :, 3]`
  std::string against;                 ///< plot: the file subtracted
  bool logarithmic = false;            ///< plot
  std::string spill;                   ///< doctor: folder for measuring the disk
  std::string hosts;                   ///< doctor: two hosts, separated by a comma
  bool build_shim = false;             ///< mpi: makes a shim
  std::string mpi_compiler = "mpicc";  ///< mpi: with this compiler

  // output format
  bool json = false;
  bool dot = false;  ///< explain: Graphviz output
  bool types = false;
  std::string bounds;       ///< eval: directory for NAME.bounds.npy
  bool check_only = false;  ///< fmt: lists files that would change, writes nothing
};

/// Ends main without a command: exit code of `--help`, `--version` or a usage error, already printed.
struct Stop {
  int exit_code = 0;
};

/// Parses the arguments after the program's name. Throws Stop.
[[nodiscard]] CommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace tdsl::tools
