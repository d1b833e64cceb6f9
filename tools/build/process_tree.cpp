#include "tools/build/process_tree.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

namespace tdsl::codegen {

namespace {

/// The system's entry of a process.
struct ProcessEntry {
  pid_t process = 0;
  pid_t parent = 0;
  char state = ' ';
  std::string started;
};

/// `PID (NAME) STATE PARENT ...`; the start time is the 20th field after the name.
std::optional<ProcessEntry> entry_of(pid_t process) {
  constexpr int kFieldsToStart = 20;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  ProcessEntry entry;
  entry.process = process;
  fields >> entry.state >> entry.parent;
  for (int field = 2; field < kFieldsToStart; ++field) fields >> entry.started;
  return fields ? std::optional(entry) : std::nullopt;
}

bool has_ended(const ProcessEntry& entry) { return entry.state == 'Z' || entry.state == 'X'; }

std::vector<ProcessEntry> running_processes() {
  std::vector<ProcessEntry> entries;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const pid_t process = std::atoi(it->path().filename().c_str());
    if (process <= 0) continue;
    if (const auto entry = entry_of(process); entry && !has_ended(*entry)) entries.push_back(*entry);
  }
  return entries;
}

}  // namespace

bool is_running(pid_t process) {
  const auto entry = entry_of(process);
  return entry && !has_ended(*entry);
}

ProcessTree::ProcessTree(pid_t root) {
  if (const auto entry = entry_of(root)) members_[root] = entry->started;
}

bool ProcessTree::look() {
  const std::vector<ProcessEntry> entries = running_processes();
  const std::size_t before = members_.size();
  for (std::size_t known = members_.size() + 1; known != members_.size();) {
    known = members_.size();
    for (const ProcessEntry& entry : entries) {
      if (members_.contains(entry.parent)) members_.emplace(entry.process, entry.started);
    }
  }
  return members_.size() != before;
}

bool ProcessTree::runs() const {
  return std::ranges::any_of(members_, [](const auto& member) {
    const auto entry = entry_of(member.first);
    return entry && !has_ended(*entry) && entry->started == member.second;
  });
}

void ProcessTree::kill() {
  const auto signal_all = [this](int signal) {
    for (const auto& [process, started] : members_) {
      if (const auto entry = entry_of(process); entry && entry->started == started) ::kill(process, signal);
    }
  };
  do signal_all(SIGSTOP);
  while (look());
  signal_all(SIGKILL);
}

}  // namespace tdsl::codegen
