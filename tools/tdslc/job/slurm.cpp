#include "tools/tdslc/job/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>
#include <utility>

#include "runtime/check.h"
#include "runtime/message_id.h"
#include "tools/tdslc/job/text.h"

namespace tdsl::tools {

namespace {

/// Number of consecutive failed queries that are tolerated.
constexpr int kMostFailures = 20;

/// The value of a `Key=value` word; values end at a blank.
std::string field(std::string_view line, std::string_view key) {
  const std::string begin = std::string(key) + "=";
  for (std::size_t at = line.find(begin); at != std::string_view::npos; at = line.find(begin, at + 1)) {
    if (at > 0 && line[at - 1] != ' ') continue;
    const std::string_view value = line.substr(at + begin.size());
    return std::string(value.substr(0, value.find_first_of(" \n")));
  }
  return {};
}

/// A path may contain blanks: it ends before the next `Key=`.
std::string path_field(std::string_view line, std::string_view key) {
  const std::size_t begin = line.find(" " + std::string(key) + "=");
  if (begin == std::string_view::npos) return {};
  const std::string_view value = line.substr(begin + key.size() + 2);
  // The key that follows depends on Slurm's version.
  static const std::regex next(" [A-Za-z]+(/[A-Za-z]+)?=");
  std::cmatch found;
  const bool ends = std::regex_search(value.data(), value.data() + value.size(), found, next);
  return std::string(trimmed(ends ? value.substr(0, static_cast<std::size_t>(found.position())) : value));
}

/// Parses `7:0`: an exit code and a signal.
void set_codes(JobState& state, std::string_view codes) {
  const std::size_t colon = codes.find(':');
  state.code = static_cast<int>(number_in(codes.substr(0, colon)).value_or(0));
  if (colon != std::string_view::npos) state.signal = static_cast<int>(number_in(codes.substr(colon + 1)).value_or(0));
}

}  // namespace

std::optional<std::string> job_number(std::string_view printed) {
  for (const std::string_view line : parts_of(printed, '\n')) {
    const std::string_view number = trimmed(line).substr(0, trimmed(line).find(';'));
    if (number_in(number)) return std::string(number);
  }
  return std::nullopt;
}

bool JobState::ended() const {
  static constexpr std::array<std::string_view, 9> kEnds = {"COMPLETED", "FAILED",    "CANCELLED",
                                                            "TIMEOUT",   "NODE_FAIL", "OUT_OF_MEMORY",
                                                            "PREEMPTED", "BOOT_FAIL", "DEADLINE"};
  return std::ranges::find(kEnds, state) != kEnds.end();
}

int JobState::exit_code() const {
  if (code != 0) return code;
  if (signal != 0) return 128 + signal;
  return state == "COMPLETED" ? 0 : 1;
}

std::vector<JobState> job_states(std::string_view printed) {
  std::vector<JobState> states;
  for (const std::string_view line : parts_of(printed, '\n')) {
    if (!line.starts_with("JobId=")) continue;
    JobState s;
    s.state = field(line, "JobState");
    s.element = field(line, "ArrayTaskId");
    s.reason = field(line, "Reason");
    s.log = path_field(line, "StdOut");
    s.restarts = number_in(field(line, "Restarts")).value_or(0);
    set_codes(s, field(line, "ExitCode"));
    states.push_back(std::move(s));
  }
  return states;
}

std::vector<JobState> accounted_states(std::string_view printed) {
  std::vector<JobState> states;
  for (const std::string_view line : parts_of(printed, '\n')) {
    const std::vector<std::string_view> fields = parts_of(trimmed(line), '|');
    if (fields.size() != 3) continue;
    JobState s;
    const std::size_t element = fields[0].find('_');
    if (element != std::string_view::npos) s.element = fields[0].substr(element + 1);
    s.state = fields[1].substr(0, fields[1].find(' '));  // e.g. CANCELLED by USER
    set_codes(s, fields[2]);
    states.push_back(std::move(s));
  }
  return states;
}

std::string submit_script(const CommandRunner& run, const std::string& script) {
  const codegen::ProcessResult result = run({"sbatch", "--parsable", "--", script});
  const std::optional<std::string> number = result.exit_code == 0 ? job_number(result.output) : std::nullopt;
  if (number) return *number;
  // At most the last three lines: the last one is the reason, the preceding ones add details.
  std::string_view said = trimmed(result.output);
  std::size_t begin = said.size();
  for (int lines = 0; lines < 3 && begin != std::string_view::npos && begin > 0; ++lines)
    begin = said.rfind('\n', begin - 1);
  if (begin != std::string_view::npos && begin > 0) said.remove_prefix(begin + 1);
  throw rt::RunError(rt::with_id(
      fmt::format("sbatch did not take {}{}", script,
                  said.empty() ? fmt::format(": exit code {}", result.exit_code) : ": " + std::string(said)),
      "batch-system"));
}

std::vector<JobState> JobFollower::asked_states() {
  const codegen::ProcessResult result = run_({"scontrol", "show", "job", "-o", job_});
  std::vector<JobState> states = job_states(result.output);
  if (result.exit_code == 0 && !states.empty()) {
    failures_ = 0;
    return states;
  }
  const bool forgotten = result.output.find("Invalid job id") != std::string::npos;
  if (!forgotten && ++failures_ <= kMostFailures) return {};
  if (forgotten)
    states = accounted_states(run_({"sacct", "-n", "-X", "-P", "-o", "JobID,State,ExitCode", "-j", job_}).output);
  if (states.empty() && !ended())
    throw rt::RunError(rt::with_id(
        fmt::format("job {}: Slurm does not know it any more: {}", job_, trimmed(result.output)), "batch-system"));
  return states;
}

bool JobFollower::look() {
  const std::vector<JobState> states = asked_states();
  // Pending elements are reported as a group, under a different name than when they run.
  if (!states.empty()) std::erase_if(states_, [](const auto& entry) { return !entry.second.ended(); });
  for (const JobState& state : states) {
    states_[state.element] = state;
    tell(state);
  }
  return ended();
}

bool JobFollower::ended() const {
  return !states_.empty() && std::ranges::all_of(states_, [](const auto& entry) { return entry.second.ended(); });
}

void JobFollower::tell(const JobState& state) {
  // Pending elements are reported as one.
  if (!state.log.empty() && (state.element.empty() || number_in(state.element)) && state.state != "PENDING") {
    logs_.try_emplace(state.log, Log{state.element.empty() ? "" : "[" + state.element + "] ", 0, {}});
  }
  std::string text = state.state;
  if (state.state == "PENDING" && state.reason != "None") text += " (" + state.reason + ")";
  if (state.restarts > 0) text += fmt::format(", requeued {} time{}", state.restarts, state.restarts == 1 ? "" : "s");
  if (state.ended() && state.exit_code() != 0) text += fmt::format(", exit code {}", state.exit_code());
  std::string& told = told_[state.element];
  if (told == text) return;
  told = text;
  say_(fmt::format("job {}{}: {}\n", job_, state.element.empty() ? "" : "_" + state.element, text));
}

void JobFollower::read_logs() {
  const bool last = ended();
  for (auto& [path, log] : logs_) read_log(path, log, last);
}

void JobFollower::read_log(const std::string& path, Log& log, bool last) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(log.read);
  std::array<char, 65536> buffer{};
  while (in.read(buffer.data(), buffer.size()), in.gcount() > 0) {
    log.read += in.gcount();
    log.rest.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    std::size_t end = 0;
    while ((end = log.rest.find('\n')) != std::string::npos) {
      print_(log.prefix + log.rest.substr(0, end + 1));
      log.rest.erase(0, end + 1);
    }
  }
  if (!last || log.rest.empty()) return;
  print_(log.prefix + log.rest + "\n");
  log.rest.clear();
}

int JobFollower::exit_code() const {
  int code = 0;
  for (const auto& [element, state] : states_) code = std::max(code, state.exit_code());
  return code;
}

}  // namespace tdsl::tools
