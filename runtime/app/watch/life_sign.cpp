#include "runtime/app/watch/life_sign.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <ctime>

namespace tdsl::rt {

namespace {

std::atomic<int> descriptor = -1;

}  // namespace

LifeSign::LifeSign(const std::string& folder, int rank) : path_(folder + "/rank-" + std::to_string(rank)) {
  descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

LifeSign::~LifeSign() {
  const int fd = descriptor.exchange(-1);
  if (fd < 0) return;
  ::unlink(path_.c_str());
  ::close(fd);
}

void mark_life_sign(int signal) noexcept {
  const int fd = descriptor;
  if (fd < 0) return;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  std::array<char, 64> text;
  char* end = std::to_chars(text.data(), text.data() + 16, signal).ptr;
  *end++ = ' ';
  end = std::to_chars(end, text.data() + text.size(), now.tv_sec * 1'000'000'000LL + now.tv_nsec).ptr;
  [[maybe_unused]] const auto written = ::write(fd, text.data(), static_cast<std::size_t>(end - text.data()));
}

}  // namespace tdsl::rt
