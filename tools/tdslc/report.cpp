#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/app/run/run_files.h"
#include "runtime/check.h"
#include "runtime/io/text_file.h"
#include "tools/report/page.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/explain/figures.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

using nlohmann::json;

/// True if the file begins like an output of --trace. False for unreadable files.
bool begins_as_trace(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path);
  std::string word;
  return file >> word && word == "{\"displayTimeUnit\":";
}

report::ReadTrace read_trace(const std::string& path, const json& statistics) {
  report::ReadTrace trace;
  try {
    trace = report::read_trace(rt::read_text_file(path));
  } catch (const report::TraceError& error) {
    throw UsageError(fmt::format("{}: {}", path, error.what()));
  } catch (const rt::RunError& error) { throw UsageError(error.what()); }
  for (const char* name : {"program", "ranks", "threads"}) {
    const json here = trace.description.value(name, json()), there = statistics.value(name, json());
    if (here != there)
      throw UsageError(
          fmt::format("{}: this trace is of another run: {} {}, not {}", path, name, here.dump(), there.dump()));
  }
  return trace;
}

/// Lines of the program's source: the file named, otherwise the one it was built from, if it still exists.
std::string source_of(const CommandLine& line, const json& statistics) {
  if (!line.source.empty()) return line.source;
  const std::string path = statistics.value("source", std::string());
  std::error_code error;
  return path.ends_with(".tdsl") && std::filesystem::is_regular_file(path, error) ? path : "";
}

std::vector<std::string> source_lines(const CommandLine& line, const std::string& path,
                                      const std::string& statistics_file) {
  if (path.empty()) return {};
  std::error_code error;
  // A file modified after the run has different lines.
  if (line.source.empty() &&
      std::filesystem::last_write_time(path, error) > std::filesystem::last_write_time(statistics_file, error))
    return {};
  std::istringstream text(rt::read_text_file(path));
  std::vector<std::string> lines;
  for (std::string one; std::getline(text, one);) lines.push_back(one);
  return lines;
}

}  // namespace

int report(const CommandLine& line) {
  std::string statistics = line.files.front(), events = line.files.size() > 1 ? line.files.back() : "";
  if (!events.empty() && begins_as_trace(statistics)) std::swap(statistics, events);
  report::Contents contents;
  contents.statistics = read_figures(statistics);
  if (!contents.statistics.contains("phases"))
    throw UsageError(fmt::format("{}: not the --stats file of a run", statistics));
  report::ReadTrace trace;
  if (!events.empty()) {
    trace = read_trace(events, contents.statistics);
    contents.trace = &trace;
  }
  const std::string source = source_of(line, contents.statistics);
  rt::RunFiles files(rt::read_environment());
  for (const std::string& read : line.files) files.keep(read, "a file of the run");
  files.keep(source, "the program itself");
  files.write_text("-o", line.output);
  contents.source = source_lines(line, source, statistics);
  rt::write_text_file(line.output, report::page_of(contents));
  return 0;
}

}  // namespace tdsl::tools
