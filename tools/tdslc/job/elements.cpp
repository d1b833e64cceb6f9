#include "tools/tdslc/job/elements.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/check.h"
#include "runtime/io/file_kind.h"
#include "runtime/message_id.h"

namespace tdsl::tools {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void option_error(const std::string& text) {
  throw rt::RunError(rt::with_id(text, "bad-option"), rt::ExitCode::kUsage);
}

double bytes_of_file(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const auto size = fs::file_size(path, error);
    return error ? 0 : static_cast<double>(size);
  }
  double bytes = 0;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->is_regular_file(error)) bytes += static_cast<double>(at->file_size(error));
  }
  return bytes;
}

/// Strips a trailing slash, so that the parent is the containing directory.
std::string directory_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// Options, besides the names of outputs, that do not affect an element's plan.
constexpr std::string_view kWithoutSize[] = {"seed",  "stats",     "plan",       "save-plan",        "trace",
                                             "check", "heartbeat", "checkpoint", "checkpoint-every", "resume"};

/// The arguments that affect sizes, as one text.
std::string size_key(const std::vector<std::string>& arguments, const std::set<std::string>& without) {
  std::string key;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const std::string& argument = arguments[k];
    if (argument.starts_with("--")) {
      const std::size_t equals = argument.find('=');
      if (without.contains(argument.substr(2, equals == std::string::npos ? equals : equals - 2))) {
        if (equals == std::string::npos) ++k;
        continue;
      }
    }
    key += argument;
    key += '\0';
  }
  return key;
}

/// All elements use the same nodes, so per-node settings must agree.
void check_same(const std::vector<rt::AppOptions>& elements, const char* name, const auto& value) {
  for (const rt::AppOptions& options : elements) {
    if (value(options) == value(elements.front())) continue;
    option_error(
        fmt::format("--sweep: all elements have nodes of the same size, so they cannot differ in --{0}: give one --{0} "
                    "behind `--`, or submit a job for each",
                    name));
  }
}

}  // namespace

ElementFiles files_of(const rt::AppOptions& options) {
  ElementFiles files;
  for (const auto& [name, file] : options.inputs) files.read.emplace_back(name, rt::file_behind(file));
  for (const auto& [name, file] : options.outputs) files.written.emplace_back(name, rt::file_behind(file));
  const auto add = [&](const char* name, const std::optional<std::string>& file) {
    if (file) files.written.emplace_back(name, directory_name(*file));
  };
  add("stats", options.stats_file);
  add("plan", options.plan_file);
  add("save-plan", options.save_plan_file);
  add("trace", options.trace_file);
  add("checkpoint", options.checkpoint_directory);
  if (options.resume_directory) files.read.emplace_back("resume", directory_name(*options.resume_directory));
  return files;
}

double bytes_of_inputs(const rt::AppOptions& options) {
  std::set<fs::path> files;
  double bytes = 0;
  for (const auto& [name, input] : options.inputs) {
    const fs::path path = rt::file_behind(input);
    std::error_code error;
    const fs::path whole = fs::canonical(path, error);
    if (files.insert(error ? path : whole).second) bytes += bytes_of_file(path);
  }
  return bytes;
}

void check_options(const std::vector<rt::AppOptions>& elements, bool checkpoints) {
  for (const rt::AppOptions& options : elements) {
    if (!checkpoints || (!options.checkpoint_directory && !options.resume_directory)) continue;
    option_error(
        fmt::format("submit --checkpoint gives the program --checkpoint and --resume: leave out --{} behind `--`",
                    options.checkpoint_directory ? "checkpoint" : "resume"));
  }
  check_same(elements, "threads", [](const rt::AppOptions& o) { return o.threads; });
  check_same(elements, "memory", [](const rt::AppOptions& o) { return o.memory_bytes; });
  check_same(elements, "window", [](const rt::AppOptions& o) { return o.window_bytes; });
  check_same(elements, "spill", [](const rt::AppOptions& o) { return o.spill; });
}

PlannedElements planned_elements(const std::vector<SweepElement>& elements, const std::set<std::string>& outputs) {
  std::set<std::string> without = outputs;
  for (const std::string_view name : kWithoutSize) without.emplace(name);
  std::set<std::string> keys;
  std::vector<std::size_t> kinds;
  for (std::size_t k = 0; k < elements.size(); ++k) {
    if (keys.insert(size_key(elements[k].arguments, without)).second) kinds.push_back(k);
  }
  PlannedElements planned{.elements = {}, .kinds = kinds.size()};
  if (kinds.size() <= kMostPlanned) {
    planned.elements = std::move(kinds);
    return planned;
  }
  for (std::size_t k = 0; k < kMostPlanned; ++k)
    planned.elements.push_back(kinds[k * (kinds.size() - 1) / (kMostPlanned - 1)]);
  return planned;
}

}  // namespace tdsl::tools
