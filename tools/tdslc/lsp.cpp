#include "tools/lsp/server.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <utility>

#include "runtime/check.h"
#include "tools/build/toolchain.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/explain/plan_output.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

CommandLine line_for(const std::string& path) {
  CommandLine line;
  line.command = Command::kCheck;
  line.program = path;
  return line;
}

/// As `tdslc check`; the messages stay in `result`.
void check_program(const std::string& path, const lsp::OpenText& text, lsp::Checked& result) {
  Front front;
  FrontOptions options;
  options.print = false;
  options.declared = [&](const frontend::DeclaredName& d) { result.names.push_back(d); };
  options.text = text;
  options.parsed = result.parsed.get();
  options.verify_each = false;  // a fifth of the time of a check
  try {
    compile_front(line_for(path), options, front);
    static_cast<void>(lower(front, false));
  } catch (const ProgramErrors&) {  // they are in the sink
  } catch (const UsageError& error) { front.sink.error(frontend::DiagnosticId::kNotSupported, {}, error.what()); }
  result.sources = std::move(front.sources);
  result.sink = std::move(front.sink);
}

std::string shown_seconds(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}

/// `80 MB received · 0.13 s · steps of 10 MB` for the operations of a line of the program.
struct LineCost {
  double bytes = 0;
  double seconds = 0;
  double step = 0;

  void add(const plan::CostSummary& summary) {
    bytes += summary.max_bytes;
    seconds += summary.max_seconds;
    step = std::max(step, summary.max_step);
  }
  [[nodiscard]] std::string text(std::int64_t ranks) const {
    const std::string received = ranks > 1 ? human_bytes(bytes) + " received · " : "";
    return received + shown_seconds(seconds) + " · steps of " + human_bytes(step);
  }
};

lsp::Json lines_of(const PlanReport& report) {
  const auto in_program = [](int place) { return (place >> rt::kLineBits) == 0; };
  lsp::Json lines = lsp::Json::array();
  if (!report.fits) {
    if (in_program(report.memory.line))
      lines.push_back({{"line", rt::line_in(report.memory.line)}, {"text", "does not fit into memory"}});
    return lines;
  }
  std::map<int, LineCost> costs;
  for (const PlanRow& row : report.rows) {
    if (in_program(row.line)) costs[rt::line_in(row.line)].add(row.summary);
  }
  for (const auto& [line, cost] : costs) lines.push_back({{"line", line}, {"text", cost.text(report.ranks)}});
  return lines;
}

/// As `tdslc explain`.
lsp::Json plan_program(const lsp::PlanQuestion& question, const lsp::OpenText& text) {
  CommandLine line = line_for(question.path);
  line.command = Command::kExplain;
  line.ranks = question.ranks;
  line.set = question.set;
  Front front;
  FrontOptions options;
  options.print = false;
  options.text = text;
  try {
    compile_front(line, options, front);
    if (!front.foreigns.empty())
      return {{"lines", lsp::Json::array()}, {"message", "programs with functions of C++ headers have no plan here"}};
    const codegen::OperationProgram operations = lower(front, false);
    const rt::AppOptions app = options_of(line, front.graph);
    const PlanReport report = make_report(operations, request_of(line, front, operations, app));
    return {{"lines", lines_of(report)}, {"message", ""}};
  } catch (const ProgramErrors&) { return {{"lines", lsp::Json::array()}, {"message", "the program has errors"}}; }
}

}  // namespace

int language_server() {
  // Every version of a document takes memory and frees it: the process keeps it.
  constexpr int kKept = 64 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kKept);
  ::mallopt(M_MMAP_THRESHOLD, kKept);
  // A closed pipe is seen by write().
  ::signal(SIGPIPE, SIG_IGN);
  lsp::Services services;
  services.version = TDSL_VERSION;
  services.library_directory = codegen::find_prefix() + "/share/tdsl/stdlib";
  services.check = check_program;
  services.plan = plan_program;
  return lsp::Server(std::move(services), 0, 1).run();
}

}  // namespace tdsl::tools
