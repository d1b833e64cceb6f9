#include "tools/tdslc/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "frontend/diagnostics/diagnostics.h"
#include "runtime/plan/schedules/schedule.h"
#include "runtime/types.h"
#include "tools/tdslc/error_pages.h"
#include "tools/tdslc/job/size.h"
#include "tools/tdslc/job/text.h"
#include "tools/tdslc/option_tree.h"
#include "tools/tdslc/streams.h"
#include "tools/tdslc/version.h"

namespace tdsl::tools {

namespace {

/// `explain` needs time and memory proportional to the number of ranks.
constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;

constexpr const char* kForm = "tdslc COMMAND PROG.tdsl [-n RANKS] [-o FILE] [OPTIONS] [-- PROGRAM-OPTIONS]";

constexpr const char* kExamples = R"(
Examples:
  tdslc run product.tdsl -- --A a.npy --B b.npy          compile and run on one rank
  tdslc run product.tdsl -n 4 -- --A a.npy --B b.npy     on four MPI ranks
  tdslc build product.tdsl -o product                    an executable to keep: mpirun -n 4 ./product --help
  tdslc submit product.tdsl --wait -- --A a.npy --B b.npy --C c.npy     a batch job of the right size
  tdslc check product.tdsl                               diagnostics only
  tdslc eval product.tdsl -- --A a.npy --B b.npy         the sequential evaluator
  tdslc emit product.tdsl                                the C++ that is compiled
  tdslc explain product.tdsl -n 16 --set n=100000        what would run where, without running it
  tdslc compare plan.json stats.json                     whether a run did what its plan foresaw
  tdslc verify product.tdsl -- --A a.npy --B b.npy       on 1, 2, 3 and 7 ranks, against the evaluator
  tdslc report stats.json trace.json -o run.html         a page that shows a run
  tdslc fmt product.tdsl                                 canonical layout, in place
  tdslc import heat.py::smooth --call 'smooth(np.ones((50, 40)), 6)'     a NumPy function as a program
  tdslc new flow --from heat                             a folder with a program to start from
  tdslc --explain sequential-loop                        a message explained by the id in its brackets

`tdslc COMMAND --help` shows a command's options and examples.
Exit codes: 0 success, 1 errors in the program or a difference found, 2 usage, 3 a bug of the compiler, 4 the )"
                                  R"(C++ compiler failed or the
installation is incomplete, 128+N ended by signal N; `run` returns the program's.)";

struct CommandText {
  Command command;
  const char* name;
  const char* description;
  const char* examples;
};
constexpr CommandText kCommands[] = {
    {Command::kRun, "run", "Compile a program and run it", R"(
Examples:
  tdslc run ridge.tdsl -- --X x.npy --y y.npy            one rank, without a launcher
  tdslc run ridge.tdsl -n 4 -- --X x.npy --y y.npy --w w.npy
  tdslc run ridge.tdsl -- --help                         the program's own options
  tdslc run ridge.tdsl -n 2 -- --X x.npy --y y.npy --tile 256 --threads 2 --stats stats.json)"},
    {Command::kBuild, "build", "Compile a program to an executable", R"(
Examples:
  tdslc build ridge.tdsl                                 writes ./ridge
  tdslc build ridge.tdsl -o /tmp/ridge --native          for this machine's CPU only
  tdslc build ridge.tdsl --library -o lib/               writes lib/libridge.so, lib/ridge.h and lib/ridge.py
  tdslc build ridge.tdsl --library --fortran -o lib/     also lib/ridge_tdsl.f90
  mpirun -n 4 /tmp/ridge --X x.npy --y y.npy             how to run it)"},
    {Command::kSubmit, "submit", "Build a program, size a batch job for it and submit it to Slurm",
     R"(
Nodes, memory and time follow from the sizes in the input files' headers, the plan, and the profile of the site )"
     R"(that `tdslc doctor --site`
proposes; the script says how, and stays beside the executable.
Examples:
  tdslc submit train.tdsl -- --X x.npy --y y.npy --w w.npy
  tdslc submit train.tdsl --dry-run -- --X x.npy --y y.npy --w w.npy    the script, without submitting it
  tdslc submit train.tdsl -n 16 --time 2:00:00 --wait -- --X x.npy --y y.npy --w w.npy
  tdslc submit train.tdsl --sweep lambda=0.1,0.2 -- --X x.npy --y y.npy --w w-{lambda}.npy)"},
    {Command::kCheck, "check", "Report errors and warnings, build nothing", R"(
Examples:
  tdslc check ridge.tdsl
  tdslc check ridge.tdsl --types                         also the type of every name
  tdslc check ridge.tdsl --json                          for editors)"},
    {Command::kEval, "eval", "Run the sequential evaluator, which defines every program's meaning", R"(
Examples:
  tdslc eval ridge.tdsl -- --X x.npy --y y.npy
  tdslc eval ridge.tdsl -- --X x.npy --y y.npy --lambda 0.5 --w w.npy
  tdslc eval ridge.tdsl --bounds dir -- --X x.npy --y y.npy      error bounds as dir/w.bounds.npy)"},
    {Command::kEmit, "emit", "Print the C++ that a program becomes", R"(
Examples:
  tdslc emit ridge.tdsl
  tdslc emit ridge.tdsl -o ridge.cpp
  tdslc emit ridge.tdsl --project ridge                  with the runtime and a CMake file: builds without tdslc)"},
    {Command::kExplain, "explain", "Show plans, predicted bytes, flops and memory without running", R"(
docs/explain.md says what every column and word means.
Examples:
  tdslc explain product.tdsl -n 4 -- --A a.npy --B b.npy
  tdslc explain product.tdsl -n 16 --set n=100000 --set m=100000 --set k=100000
  tdslc explain product.tdsl -n 4..256 --set n=100000    on how many nodes it fits, and a row for each number of ranks
  tdslc explain product.tdsl -n 4096 --rank 17 --set n=1000000 --tile 1000
  tdslc explain product.tdsl -n 64 --per-node 16 --set n=100000
  tdslc explain product.tdsl -n 4 --set n=1000 --memory 512MiB --json
  tdslc explain product.tdsl -n 4 --set n=1000 --stage=region
  tdslc explain product.tdsl -n 4 --set n=1000 --stage=kernels
  tdslc explain product.tdsl -n 4 --set n=1000 --stage=rules
  tdslc explain product.tdsl -n 4 --set n=1000 --schedule auto --save-plan product.plan
  tdslc explain product.tdsl -n 4 --set n=1000 --place A=i0:2,i1:2
  tdslc explain product.tdsl -n 4 --set n=1000 --why A   where A could lie, and what that would cost
  tdslc explain product.tdsl -n 4 --set n=1000 --plan plan.json      for `tdslc compare`
  tdslc explain product.tdsl -n 4 --set n=1000 --schedule=auto
  tdslc explain product.tdsl -n 4 --set n=1000 --stage=workflow --schedule=lshs --dot)"},
    {Command::kPasses, "passes", "List the passes, or show their effects on a program", R"(
Examples:
  tdslc passes
  tdslc passes ridge.tdsl                                remarks and times
  tdslc passes ridge.tdsl --dump-after loops_to_algebra
  tdslc passes ridge.tdsl --dump-after all --disable-pass fusion)"},
    {Command::kFormat, "fmt", "Bring programs into canonical layout, in place", R"(
Examples:
  tdslc fmt ridge.tdsl product.tdsl                      rewrites the files that are not
  tdslc fmt --check *.tdsl                               names them only; exit code 1 if there are any
  tdslc fmt - < ridge.tdsl                               from standard input to standard output)"},
    {Command::kCompare, "compare", "Compare a plan's predictions with the counts of a run",
     R"(
Every count must be as foreseen, for every statement, and of up to 16 ranks for each rank; else the exit code )"
     R"(is 1. Both must be of the
same program, sizes, ranks and threads.
Examples:
  tdslc explain product.tdsl -n 4 --threads 1 --plan plan.json -- --A a.npy --B b.npy --C c.npy
  tdslc run product.tdsl -n 4 -- --A a.npy --B b.npy --C c.npy --threads 1 --stats stats.json
  tdslc compare plan.json stats.json                     the plan may also be what --plan of the run has written)"},
    {Command::kVerify, "verify", "Compare a program on 1, 2, 3 and 7 ranks with the evaluator",
     R"(
Outputs must lie within the evaluator's error bounds, integers be equal; with --reproducible every number of )"
     R"(ranks must give the same bits.
Examples:
  tdslc verify ridge.tdsl -- --X x.npy --y y.npy
  tdslc verify ridge.tdsl -n 4 -- --X x.npy --y y.npy --tile 7       on four ranks only
  tdslc verify ridge.tdsl -- --X x.npy --y y.npy --reproducible)"},
    {Command::kReport, "report", "Make a page that shows a run",
     R"(
One HTML file that needs no network: source lines with predicted beside measured, timeline, memory, )"
     R"(communication, phases, warnings.
Examples:
  tdslc run product.tdsl -n 4 -- --A a.npy --B b.npy --stats stats.json --trace trace.json
  tdslc report stats.json trace.json -o run.html
  tdslc report stats.json --source product.tdsl -o run.html      without a timeline, with the program's text)"},
    {Command::kPlot, "plot", "Draw an array of a file",
     R"(
Any file that programs read or write. One or two dimensions are shown: a line with its range, or colours; sparse )"
     R"(files as
the number of elements per pixel. Prints a summary, and draws on the terminal or, with -o, into a file.
Examples:
  tdslc plot u.npy
  tdslc plot fields.h5:/velocity '[:, :, 3]' -o velocity.svg
  tdslc plot u.npy --against reference.npy --log         where they differ, and by how much)"},
    {Command::kImport, "import", "Translate a NumPy function to a program, and compare both", ""},
    {Command::kNew, "new", "Make a folder with a program to start from", R"(
NAME.tdsl, make_inputs.tdsl, Makefile, CMakeLists.txt, .vscode/ and a README with the commands.
Examples:
  tdslc new flow                                         heat on a plate
  tdslc new ranks --from graph && make -C ranks test)"},
    {Command::kLanguageServer, "lsp", "Serve an editor on standard input and output (Language Server Protocol)", R"(
docs/editors.md says how editors start it.)"},
    {Command::kDoctor, "doctor", "Check the installation and measure this machine", R"(
Examples:
  tdslc doctor
  tdslc doctor --hosts node1,node2                       also the network between these two
  tdslc doctor --spill /scratch                          the disk of this folder instead of that of $TMPDIR or /tmp
  tdslc doctor --site                                    a profile of the cluster for `submit`, or where yours differs
  tdslc doctor --json)"},
    {Command::kMpi, "mpi", "List MPI libraries, and which one ranks use and why", R"(
A program opens the MPI library of the launcher that starts it; TDSL_MPI=openmpi, mpich, abi, none or the path of a shim
chooses another one.
Examples:
  tdslc mpi
  tdslc mpi --build --cc /opt/mpi/bin/mpicc              a shim for an MPI that is not listed)"},
};

void add_compile_options(CLI::App& app, CommandLine& line) {
  app.add_option("-O,--level", line.level, "Optimisation level: 0, 1 or 2")->check(CLI::Range(0, 2));
  app.add_option("--disable-pass", line.disabled_passes, "Disable a pass (see `tdslc passes`)")
      ->type_name("PASS")
      ->allow_extra_args(false);
  app.add_option("--fusion", line.fusion,
                 "Which operators share loops: by cost, all that can, all without computing a value twice, or none")
      ->type_name("cost|all|no-redundancy|none")
      ->check(CLI::IsMember({"cost", "all", "no-redundancy", "none"}));
  app.add_option("-W", line.warnings, "Leave a warning out: -Wno-ID, the ID as it stands in brackets after the message")
      ->type_name("no-ID")
      ->allow_extra_args(false);
}

void add_job_options(CLI::App& app, JobOptions& job) {
  app.add_option("--nodes", job.nodes, "Number of nodes (default: the fewest whose memory is enough)")
      ->check(CLI::Range(std::int64_t{1}, kMostRanks))
      ->type_name("N");
  app.add_option("--mem", job.memory, "Memory of each node (default: as needed by the plan)")->type_name("SIZE");
  app.add_option("--time", job.time,
                 fmt::format("Time limit (default: {:g} x the predicted seconds, plus the time for files)",
                             kTimeMargin * kSlower))
      ->type_name("TIME");
  app.add_option("--iterations", job.iterations, "Assumed iterations of loops whose trip count depends on data")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->type_name("N");
  app.add_option("--sweep", job.sweeps,
                 "A job array: the program's option with each of these values; {NAME} in other options stands for it")
      ->type_name("NAME=VALUE,...")
      ->allow_extra_args(false);
  app.add_option("--site", job.site, "Profile of the site (default: $TDSL_SITE, ~/.config/tdsl/site.conf)")
      ->type_name("FILE");
  app.add_option("--script", job.script, "Where the script goes (default: NAME.sbatch)")->type_name("FILE");
  app.add_flag("--checkpoint", job.checkpoint, "Save at the time limit, and go on in the next attempt");
  app.add_flag("--dry-run", job.dry_run, "Print the script; submit nothing");
  app.add_flag("--wait", job.wait, "Follow the log until the job has ended; the exit code is the job's");
}

/// `16`, or `4..256`.
void set_rank_range(CommandLine& line, const std::string& text) {
  const std::size_t dots = text.find("..");
  line.ranks = number_in(text.substr(0, dots));
  line.last_ranks = dots == std::string::npos ? std::nullopt : number_in(text.substr(dots + 2));
  const std::int64_t last = dots == std::string::npos ? line.ranks.value_or(0) : line.last_ranks.value_or(0);
  if (line.ranks.value_or(0) < 1 || last < line.ranks || last > kMostRanks)
    throw CLI::ValidationError(
        "--ranks", fmt::format("`{}` is neither a number from 1 to {} nor a range such as 4..256", text, kMostRanks));
}

void add_rank_range(CLI::App& app, CommandLine& line) {
  app.add_option_function<std::string>(
         "-n,--ranks", [&line](const std::string& text) { set_rank_range(line, text); },
         "Number of MPI ranks; or a range: the number of nodes on which the program fits, and a row for each power of "
         "two")
      ->type_name("RANKS[..RANKS]");
}

void add_explain_options(CLI::App& app, CommandLine& line) {
  app.add_option("--per-node", line.ranks_per_node, "Ranks on every node")
      ->check(CLI::Range(std::int64_t{1}, kMostRanks))
      ->type_name("R");
  app.add_option("--rank", line.rank, "Also the tasks, messages and bytes of this rank")->type_name("R");
  app.add_option("--set", line.set,
                 "Extent of a dimension, value of a param, or A.stored=N: elements stored in the sparse input A")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--tile", line.tile, "Edge of every tile, or one per dimension")->type_name("T[,T...]");
  app.add_option("--threads", line.threads, "Threads per rank")->check(CLI::Range(1, rt::kMostThreads));
  app.add_option("--memory", line.memory, "Memory budget per rank")->type_name("SIZE");
  app.add_option("--window", line.window, "Memory limit of admitted steps per rank (prefetch window)")
      ->type_name("SIZE");
  app.add_option("--plan", line.plan, "Write the predictions for every rank as JSON, for `tdslc compare`")
      ->type_name("FILE");
  app.add_option(
         "--use-plan", line.use_plan,
         "Use the plan in FILE: written by --save-plan, or tensor relations, as --stage=algebra and rules print them")
      ->type_name("FILE");
  app.add_option("--save-plan", line.save_plan, "Write the plan of the whole program, for --use-plan")
      ->type_name("FILE");
  app.add_option("--place", line.place, "Fix the layout of NAME (i0:a,i1:b or i0:2,i1:2) and plan the rest around it")
      ->type_name("NAME=LAYOUT")
      ->allow_extra_args(false);
  app.add_flag("--reproducible", line.reproducible, "Plans that do not depend on ranks and threads");
  app.add_flag("--time-plan", line.time_plan, "Time of planning the whole program");
  app.add_option("--why", line.why,
                 "Instead of plans: every value of a site, by name or number, and what each would cost")
      ->type_name("NAME");
  app.add_option("--costs", line.costs,
                 "Also costs in the models of the papers (TRA, EinDecomp, NumS), lower bounds, and names of algorithms")
      ->check(CLI::IsMember({"papers"}))
      ->type_name("papers");
  auto* json = app.add_flag("--json", line.json, "The answer as JSON");
  app.add_flag("--dot", line.dot, "The plan, or the workflow, as a graph for Graphviz")->excludes(json);
  app.add_option("--schedule", line.schedule,
                 "Planner (default: auto, the cheapest): " + plan::schedule_names() + "; the totals of all are shown")
      ->type_name("NAME");
  app.add_option("--node-grid", line.node_grid, "The nodes as a grid, for --schedule=lshs")->type_name("N[xN...]");
  app.add_option(
         "--stage", line.stage,
         "Instead of plans: region, the operations a whole-program plan starts from; workflow, their tasks over blocks "
         "(with --schedule=pattern or lshs: on which rank); algebra, the program and its plan as tensor relations; "
         "rules, the derivation of a plan of relations; kernels, what every emitted kernel reads, writes and computes, "
         "and the prices of forms")
      ->check(CLI::IsMember({"region", "workflow", "algebra", "rules", "kernels"}))
      ->type_name("STAGE");
}

void add_options_of(CLI::App& app, Command command, CommandLine& line) {
  if (command == Command::kImport) return;
  if (command == Command::kNew) {
    app.add_option("name", line.program, "The folder, which does not exist yet, and the program's name")
        ->type_name("NAME")
        ->required();
    app.add_option("--from", line.from, "What to start from (default: heat)")
        ->check(CLI::IsMember({"heat", "matmul", "regression", "graph", "sparse", "tensor"}))
        ->type_name("TEMPLATE");
    return;
  }
  if (command == Command::kMpi) {
    app.add_flag("--build", line.build_shim, "Make a shim with an MPI's own C compiler");
    app.add_option("--cc", line.mpi_compiler, "That compiler (default: mpicc)")->type_name("PROGRAM");
    app.add_flag("--json", line.json, "The answer as JSON");
    return;
  }
  if (command == Command::kLanguageServer) {
    app.add_flag("--stdio")->description("Accepted, as editors give it; there is no other way")->group("");
    return;
  }
  if (command == Command::kFormat) {
    app.add_option("files", line.files, "The programs; - is standard input")->type_name("PROG.tdsl")->required();
    app.add_flag("--check", line.check_only, "Name the files that would change, write nothing");
    return;
  }
  if (command == Command::kCompare) {
    app.add_option("files", line.files, "What `explain --plan` or --plan wrote, and what --stats wrote, in any order")
        ->type_name("PLAN STATISTICS")
        ->required()
        ->expected(2);
    return;
  }
  if (command == Command::kReport) {
    app.add_option("files", line.files, "What --stats wrote, and what --trace wrote, in any order")
        ->type_name("STATISTICS [TRACE]")
        ->required()
        ->expected(1, 2);
    app.add_option("-o,--output", line.output, "The page")->type_name("FILE.html")->required();
    app.add_option("--source", line.source, "The program (default: where it was when it was built, if it is there)")
        ->type_name("PROG.tdsl");
    return;
  }
  if (command == Command::kPlot) {
    app.add_option("file", line.program, "The file, with a dataset or column where its format has them")
        ->type_name("FILE")
        ->required();
    app.add_option("slice", line.slice, "The dimensions to show as `:`, subscripts of the others: '[:, :, 3]'")
        ->type_name("SLICE");
    app.add_option("-o,--output", line.output, "The picture")->type_name("FILE.png|FILE.svg");
    app.add_option("--against", line.against, "Draw the difference to this file, and print where it is largest")
        ->type_name("FILE");
    app.add_flag("--log", line.logarithmic, "Logarithms of magnitudes");
    return;
  }
  if (command != Command::kDoctor) {
    auto* program = app.add_option("program", line.program, "The program")->type_name("PROG.tdsl");
    if (command != Command::kPasses) program->required();
  }
  const bool builds = command == Command::kRun || command == Command::kBuild || command == Command::kVerify ||
                      command == Command::kSubmit;
  if (command == Command::kSubmit) add_job_options(app, line.job);
  if (command != Command::kDoctor) add_compile_options(app, line);
  if (command == Command::kExplain) add_rank_range(app, line);
  if (command == Command::kRun || command == Command::kVerify || command == Command::kSubmit) {
    app.add_option("-n,--ranks", line.ranks, "Number of MPI ranks")
        ->check(CLI::Range(std::int64_t{1}, kMostRanks))
        ->type_name("RANKS");
  }
  if (command == Command::kRun || command == Command::kVerify)
    app.add_flag("--oversubscribe", line.oversubscribe, "Start more than 64 ranks for each core of this machine");
  if (command == Command::kBuild || command == Command::kSubmit)
    app.add_option("-o,--output", line.output, "Name of the executable")->type_name("FILE");
  if (command == Command::kEmit || command == Command::kExplain || command == Command::kDoctor) {
    app.add_option("-o,--output", line.output, "Write to FILE instead of standard output")->type_name("FILE");
  }
  if (builds) {
    app.add_flag("--native", line.native, "Use all instructions of this machine's CPU");
    app.add_flag("--no-cache", line.no_cache, "Compile even if nothing has changed");
    app.add_option("-j,--jobs", line.jobs, "Compilers that run at the same time for a long program; default: the cores")
        ->check(CLI::Range(1, 64))
        ->type_name("N");
  }
  if (command == Command::kBuild) {
    CLI::Option* const library =
        app.add_flag("--library", line.library,
                     "A shared library with a C header and a Python module, for programs that call this one");
    app.add_flag("--fortran", line.fortran, "With --library: also a Fortran module, NAME_tdsl.f90")->needs(library);
    app.add_option("--depfile", line.depfile, "Write the files that the program consists of, as a rule of make")
        ->type_name("FILE");
    app.add_flag("--time-passes{text}", line.time_build, "Time of every part of the build; =json: as JSON")
        ->check(CLI::IsMember({"text", "json"}));
  }
  if (command == Command::kEmit) {
    app.add_flag("--line-directives", line.line_directives, "With #line, as it is compiled");
    app.add_flag("--counts", line.counts, "Only how many kernels there are, in how many versions, as JSON");
    app.add_option("--project", line.project, "A source tree that builds without TDSL, in a new folder")
        ->type_name("DIR");
  }
  if (command == Command::kCheck) {
    app.add_flag("--types", line.types, "Show the type of every declared name");
    app.add_flag("--json", line.json, "Diagnostics as JSON");
  }
  if (command == Command::kEval) {
    app.add_option("--bounds", line.bounds, "Directory for error bounds of float outputs, NAME.bounds.npy")
        ->type_name("DIR");
    app.add_option("--set", line.set, "Extent of a dimension or value of a param")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
  }
  if (command == Command::kExplain) add_explain_options(app, line);
  if (command == Command::kPasses) {
    app.add_option("--dump-after", line.dump_after,
                   "Print the program after a pass, after `all`, or after `lower`: operations and nests")
        ->type_name("PASS")
        ->allow_extra_args(false);
    app.add_flag("--time-passes", line.time_passes, "Time of every pass");
  }
  if (command == Command::kDoctor) {
    app.add_flag("--site", line.check_site, "Propose a site profile, or compare the existing one with the cluster");
    app.add_option("--profile", line.job.site, "With --site: the existing profile, instead of ~/.config/tdsl/site.conf")
        ->type_name("FILE");
    app.add_option("--spill", line.spill, "A folder for what memory has no room for, whose disk is measured")
        ->type_name("DIR");
    app.add_option("--hosts", line.hosts, "Two machines, between which the network is measured")->type_name("A,B");
    app.add_flag("--json", line.json, "The answer as JSON");
  }
}

/// All long and short option names of an app.
std::vector<std::string> spellings(const CLI::App& app) {
  std::vector<std::string> result;
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& s : o->get_lnames()) result.push_back("--" + s);
    for (const std::string& s : o->get_snames()) result.push_back("-" + s);
  }
  return result;
}

/// `--tile` for `--tile=7`, and `-n` for `-n4`.
std::string spelling_in(const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  return name.starts_with("--") ? name : name.substr(0, 2);
}

/// Error message for an unknown option or command.
std::string unknown_message(const CLI::App& app, const CLI::App* command, const std::vector<std::string>& arguments) {
  if (command == nullptr) {
    std::vector<std::string> names;
    for (const CommandText& c : kCommands) names.emplace_back(c.name);
    return fmt::format("unknown command `{}`{}", arguments.front(), frontend::did_you_mean(arguments.front(), names));
  }
  const std::vector<std::string> known = spellings(*command);
  for (const std::string& argument : arguments) {
    const std::string name = spelling_in(argument);
    if (name.size() < 2 || name.front() != '-' || std::ranges::find(known, name) != known.end()) continue;
    std::string text = fmt::format("unknown option `{}`{}", name, frontend::did_you_mean(name, known));
    if (app.get_name().empty() || frontend::did_you_mean(name, known).empty())
      text += "; the program's own options come after --";
    return text;
  }
  return "too many arguments; the program's own options come after --";
}

[[noreturn]] void usage_error(const std::string& message, const std::string& command) {
  print_error(fmt::format("tdslc: {}\nusage: {}\n", message, kForm));
  if (!command.empty()) print_error(fmt::format("`tdslc {} --help` shows its options\n", command));
  throw Stop{2};
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
  CommandLine line;
  if (!arguments.empty() && arguments.front() == "import") {  // the importer reads its options itself
    line.command = Command::kImport;
    line.program_arguments.assign(arguments.begin() + 1, arguments.end());
    return line;
  }
  const auto separator = std::ranges::find(arguments, "--");
  std::vector<std::string> own(arguments.begin(), separator);
  if (separator != arguments.end()) line.program_arguments.assign(separator + 1, arguments.end());

  CLI::App app("tdslc compiles tensor programs to MPI/OpenMP executables.\n" + std::string("Usage: ") + kForm);
  app.name("tdslc");
  app.footer(kExamples);
  app.set_version_flag("--version", kVersionText);
  app.add_option_function<std::string>(
         "--explain", [](const std::string& id) { throw Stop{print_error_page(id)}; },
         "Explain a message by the id in its brackets")
      ->type_name("ID");
  app.add_flag_callback(
         "--options-json", [&app] { throw Stop{print_option_tree(app)}; },
         "All commands and options, and those of executables, as JSON")
      ->group("");
  // As flags of tdslc itself: what installations run once.
  bool configures = false;
  CLI::Option* const configure = app.add_flag(
      "--configure", configures, "Compile the headers of emitted programs, so that builds take half a second less");
  app.add_option("-o", line.output, "With --configure: the folder for them, instead of the first that can be written")
      ->type_name("DIR")
      ->needs(configure);
  app.require_subcommand(0, 1);
  for (const CommandText& c : kCommands) {
    CLI::App* sub = app.add_subcommand(c.name, c.description);
    sub->footer(c.examples);
    sub->callback([&line, command = c.command] { line.command = command; });
    add_options_of(*sub, c.command, line);
  }
  if (own.empty()) {
    print_error(app.help());
    throw Stop{2};
  }
  const auto chosen = [&]() -> const CLI::App* {
    const auto list = app.get_subcommands();
    return list.empty() ? nullptr : list.front();
  };
  try {
    std::vector<std::string> reversed(own.rbegin(), own.rend());
    app.parse(reversed);
  } catch (const CLI::Success& s) {
    app.exit(s);
    throw Stop{0};
  } catch (const CLI::ExtrasError&) {
    usage_error(unknown_message(app, chosen(), own), chosen() ? chosen()->get_name() : "");
  } catch (const CLI::ParseError& e) {
    if (chosen() == nullptr) {
      const bool known = own.front() == "--explain";
      usage_error(known ? e.what() : unknown_message(app, nullptr, own), "");
    }
    // A misspelt option may be reported as a missing argument.
    const std::vector<std::string> known = spellings(*chosen());
    const bool misspelt = std::ranges::any_of(own, [&](const std::string& a) {
      return a.starts_with("--") && std::ranges::find(known, spelling_in(a)) == known.end();
    });
    usage_error(misspelt ? unknown_message(app, chosen(), own) : e.what(), chosen()->get_name());
  }
  if (chosen() == nullptr) {
    if (!configures) usage_error(unknown_message(app, nullptr, own), "");
    line.command = Command::kConfigure;
  } else if (configures) {
    usage_error("--configure stands alone", "");
  }
  return line;
}

}  // namespace tdsl::tools
