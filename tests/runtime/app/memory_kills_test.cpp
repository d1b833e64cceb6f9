#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/memory/memory_kills.h"
#include "tests/runtime/temporary_folder.h"

using namespace tdsl::rt;

namespace {

enum class End { kUnkilled, kKilled, kNone };

/// Two processes of a run, of which the second ends as given. Whether the first attributes this to the kernel after the
/// given number of kills in the group.
bool blames(End end, int kills) {
  const tdsl::tests::TemporaryFolder folder;
  const std::string counter = folder / "memory.oom_control";
  const auto count = [&](int number) { std::ofstream(counter) << "under_oom 0\noom_kill " << number << "\n"; };
  count(0);
  const SystemFiles files = [&](const std::string& path) -> std::optional<std::string> {
    if (path == "/proc/self/cgroup") return "4:memory:/\n";
    if (path == "/proc/self/mountinfo") return "36 31 0:33 / " + (folder / "") + " rw - cgroup cgroup rw,memory\n";
    return std::nullopt;
  };
  int to_second[2], to_first[2];
  REQUIRE(::pipe(to_second) == 0);
  REQUIRE(::pipe(to_first) == 0);
  const std::string run = "test-" + std::to_string(::getpid()) + "-" + (folder / "");
  const std::string first = kill_watch_part();
  const pid_t second = ::fork();
  const auto tell = [](int fd, std::string text) {
    text += '\n';
    [[maybe_unused]] const auto written = ::write(fd, text.data(), text.size());
  };
  // Reads one line: the next one may have arrived already.
  const auto hear = [](int fd) {
    std::string text;
    for (char c = 0; ::read(fd, &c, 1) == 1 && c != '\n';) text += c;
    return text;
  };
  if (second == 0) {
    const std::string mine = kill_watch_part();
    tell(to_first[1], mine);
    watch_memory_kills(run, {first, mine}, 1, files);
    tell(to_first[1], "watches");
    hear(to_second[0]);
    if (end == End::kUnkilled) end_unkilled();
    if (end == End::kKilled) ::raise(SIGKILL);
    ::_exit(0);
  }
  const std::vector<std::string> parts{first, hear(to_first[0])};
  watch_memory_kills(run, parts, 0, files);
  hear(to_first[0]);
  count(kills);
  if (end != End::kNone) {
    tell(to_second[1], "end");
    ::waitpid(second, nullptr, 0);
  }
  // Discards its standard error.
  const int standard_error = ::dup(2);
  const int nowhere = ::open("/dev/null", O_WRONLY);
  ::dup2(nowhere, 2);
  const bool told = report_memory_kill();
  ::dup2(standard_error, 2);
  if (end == End::kNone) {
    tell(to_second[1], "end");
    ::waitpid(second, nullptr, 0);
  }
  for (const int fd : {to_second[0], to_second[1], to_first[0], to_first[1], nowhere, standard_error}) ::close(fd);
  end_unkilled();
  return told;
}

}  // namespace

TEST_CASE("memory kills: a process of the run that is gone without a word was killed, if the system has killed one") {
  CHECK(blames(End::kKilled, 1));
  CHECK_FALSE(blames(End::kKilled, 0));
}

TEST_CASE("memory kills: kills of other processes of the group are not attributed to the run") {
  CHECK_FALSE(blames(End::kNone, 1));
  CHECK_FALSE(blames(End::kUnkilled, 1));
}
