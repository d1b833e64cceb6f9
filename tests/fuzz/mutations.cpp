#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "tests/fuzz/compiler_fuzz.h"
#include "tests/fuzz/mutator.h"

// Damages the programs of the repository and compiles the results: they must give errors or programs, without crashing
// or taking long. Child processes compile case after case; a case that kills a child is reported and kept, and the next
// child continues after it.

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

struct Options {
  fs::path root;
  fs::path found;
  std::uint64_t seed = 1;
  std::uint64_t first = 0;
  std::uint64_t count = 500;
  std::uint64_t jobs = 1;
  double seconds = 10;
};

[[noreturn]] void usage() {
  std::fprintf(
      stderr,
      "usage: tdsl_mutations ROOT FOUND [--seed N] [--first N] [--count N] [--jobs N] [--limit SECONDS] | ROOT --show "
      "SEED CASE | ROOT --file FILE\n"
      "ROOT: the repository. Cases that crash, or take longer than the limit (10), are left in the folder FOUND.\n");
  std::exit(2);
}

/// All self-contained programs of the repository; of tests/conformance every case.
std::vector<std::string> programs(const fs::path& root) {
  std::vector<fs::path> files;
  for (const char* folder : {"samples", "tests/e2e/cases", "tests/conformance"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() == ".tdsl") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const fs::path& file : files) {
    std::string text = tdsl::tests::text_of(file).value_or("");
    std::size_t begin = 0;
    for (std::size_t next = text.find("\n//# "); next != std::string::npos; next = text.find("\n//# ", begin)) {
      texts.push_back(text.substr(begin, next + 1 - begin));
      begin = next + 1;
    }
    texts.push_back(text.substr(begin));
  }
  return texts;
}

std::string case_text(const std::vector<std::string>& texts, std::uint64_t seed, std::uint64_t number) {
  std::seed_seq sequence{seed & 0xffffffffU, seed >> 32U, number & 0xffffffffU, number >> 32U};
  std::mt19937_64 random(sequence);
  return tdsl::tests::mutated(texts[random() % texts.size()], random);
}

/// A child's progress, in memory shared with its parent.
struct Progress {
  std::atomic<std::uint64_t> number;
  std::atomic<std::uint64_t> programs;
  char message[2048];
};

/// Compiles every `jobs`-th case, starting at `progress.number`. Ends the process, with 0 unless a case kills it.
[[noreturn]] void work(const Options& o, const std::vector<std::string>& texts, Progress& progress) {
  // Limits memory: a program that needs gigabytes counts as a crash. (Sanitizers reserve unlimited address space.)
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit memory{rlim_t{4} << 30U, rlim_t{4} << 30U};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
  const rlimit core{0, 0};
  ::setrlimit(RLIMIT_CORE, &core);
  for (; progress.number < o.first + o.count; progress.number += o.jobs) {
    try {
      const bool made = tdsl::tests::fuzz_compiler(case_text(texts, o.seed, progress.number), o.root / "stdlib",
                                                   progress.number % 20 == 0);
      progress.programs += made ? 1 : 0;
    } catch (const std::exception& error) {
      std::snprintf(progress.message, sizeof progress.message, "%s", error.what());
      std::_Exit(3);
    }
  }
  std::_Exit(0);
}

/// Every `jobs`-th case of the series, sequentially, in a child that is replaced if it ends early.
class Job {
 public:
  Job(const Options& options, const std::vector<std::string>& texts, std::uint64_t number)
      : options_(options), texts_(texts) {
    void* const shared = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) std::abort();
    progress_ = new (shared) Progress();
    progress_->number = options.first + number;
    start();
  }

  /// Checks on the child. Returns false when all cases are done.
  bool poll() {
    if (child_ < 0) return false;
    int status = 0;
    if (::waitpid(child_, &status, WNOHANG) == child_) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        child_ = -1;
      } else {
        fail(WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status))
                                 : "exit code " + std::to_string(WEXITSTATUS(status)));
      }
    } else if (progress_->number != seen_) {
      seen_ = progress_->number;
      since_ = Clock::now();
    } else if (std::chrono::duration<double>(Clock::now() - since_).count() > options_.seconds) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, &status, 0);
      fail("takes more than " + std::to_string(static_cast<int>(options_.seconds)) + " seconds");
    }
    return child_ >= 0;
  }
  [[nodiscard]] std::uint64_t failed() const { return failed_; }
  [[nodiscard]] std::uint64_t programs() const { return progress_->programs; }

 private:
  void start() {
    progress_->message[0] = '\0';
    seen_ = progress_->number;
    since_ = Clock::now();
    child_ = ::fork();
    if (child_ == 0) work(options_, texts_, *progress_);
  }

  void fail(const std::string& how) {
    ++failed_;
    const std::uint64_t number = progress_->number;
    const fs::path kept = options_.found / (std::to_string(options_.seed) + "_" + std::to_string(number) + ".tdsl");
    std::ofstream(kept) << case_text(texts_, options_.seed, number);
    std::printf("seed %llu case %llu: %s: %s%s%s\n", static_cast<unsigned long long>(options_.seed),
                static_cast<unsigned long long>(number), kept.c_str(), how.c_str(),
                progress_->message[0] == '\0' ? "" : ": ", progress_->message);
    std::fflush(stdout);
    progress_->number += options_.jobs;
    start();
  }

  const Options& options_;
  const std::vector<std::string>& texts_;
  Progress* progress_;  ///< shared with the child; never unmapped
  pid_t child_ = -1;
  std::uint64_t seen_ = 0;
  Clock::time_point since_;
  std::uint64_t failed_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) usage();
  Options o;
  o.root = arguments[0];
  if (arguments[1] == "--file" && arguments.size() == 3) {
    tdsl::tests::fuzz_compiler(tdsl::tests::text_of(arguments[2]).value_or(""), o.root / "stdlib", true);
    return 0;
  }
  const std::vector<std::string> texts = programs(o.root);
  if (arguments[1] == "--show" && arguments.size() == 4) {
    std::fputs(case_text(texts, std::stoull(arguments[2]), std::stoull(arguments[3])).c_str(), stdout);
    return 0;
  }
  o.found = arguments[1];
  for (std::size_t k = 2; k + 1 < arguments.size(); k += 2) {
    const std::string& name = arguments[k];
    const auto value = static_cast<std::uint64_t>(std::stoull(arguments[k + 1]));
    if (name == "--limit") {
      o.seconds = static_cast<double>(value);
      continue;
    }
    std::uint64_t* const target = name == "--seed"    ? &o.seed
                                  : name == "--first" ? &o.first
                                  : name == "--count" ? &o.count
                                  : name == "--jobs"  ? &o.jobs
                                                      : nullptr;
    if (target == nullptr) usage();
    *target = value;
  }
  fs::create_directories(o.found);
  o.jobs = std::max<std::uint64_t>(o.jobs, 1);
  std::vector<Job> jobs;
  for (std::uint64_t job = 0; job < o.jobs; ++job) jobs.emplace_back(o, texts, job);
  while (std::ranges::count_if(jobs, [](Job& job) { return job.poll(); }) > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::uint64_t made = 0;
  std::uint64_t failed = 0;
  for (const Job& job : jobs) {
    made += job.programs();
    failed += job.failed();
  }
  std::printf("%llu cases of seed %llu from %zu programs: %llu are programs, %llu failed\n",
              static_cast<unsigned long long>(o.count), static_cast<unsigned long long>(o.seed), texts.size(),
              static_cast<unsigned long long>(made), static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}
