#include "tools/lsp/plans.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <utility>

namespace tdsl::lsp {

namespace {

void write_all(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    done += static_cast<std::size_t>(count);
  }
}

/// The child: plans, writes the answer, and never returns. Standard output belongs to the protocol.
[[noreturn]] void answer(const Services& services, const PlanQuestion& question, const OpenText& text, int out,
                         pid_t server) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != server) ::_exit(1);
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int standard : {0, 1, 2}) ::dup2(nowhere, standard);
  const rlimit limit{Plans::kLimit.count(), Plans::kLimit.count()};
  ::setrlimit(RLIMIT_CPU, &limit);
  Json result;
  try {
    result = services.plan(question, text);
  } catch (const std::exception& error) { result = {{"lines", Json::array()}, {"message", error.what()}}; }
  write_all(out, result.dump(-1, ' ', false, Json::error_handler_t::replace));
  ::_exit(0);
}

}  // namespace

void Plans::request(const Document& document, PlanQuestion question) {
  cancel();
  question_ = std::move(question);
  uri_ = document.uri;
  version_ = document.version;
  due_ = Clock::now() + kRest;
}

void Plans::cancel() {
  question_.reset();
  output_.clear();
  if (pipe_ >= 0) ::close(std::exchange(pipe_, -1));
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {}
  child_ = -1;
}

void Plans::start(const OpenText& text) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return cancel();
  const pid_t server = ::getpid();
  child_ = ::fork();
  if (child_ == 0) {
    ::close(ends[0]);
    ::fcntl(ends[1], F_SETFL, 0);
    answer(services_, *question_, text, ends[1], server);
  }
  ::close(ends[1]);
  pipe_ = ends[0];
  if (child_ < 0) cancel();
}

Plans::Answer Plans::finished() {
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {}
  child_ = -1;
  const bool stopped = WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU);
  Answer answer{uri_, version_, Json::array(),
                stopped ? "planning takes more than 2 s of processor time" : "the plan has no answer"};
  const Json json = Json::parse(output_, nullptr, false);
  if (json.is_object()) {
    answer.lines = json.value("lines", Json::array());
    answer.message = json.value("message", "");
  }
  cancel();
  return answer;
}

std::optional<Plans::Answer> Plans::read() {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = ::read(pipe_, buffer.data(), buffer.size());
    if (count > 0) {
      output_.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return std::nullopt;
    } else {
      return finished();
    }
  }
}

std::optional<Plans::Answer> Plans::step(const OpenText& text) {
  if (!question_) return std::nullopt;
  if (child_ < 0) {
    if (Clock::now() >= due_) start(text);
    return std::nullopt;
  }
  return read();
}

int Plans::wait() const {
  if (!question_ || child_ >= 0) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due_ - Clock::now()).count() + 1;
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

}  // namespace tdsl::lsp
