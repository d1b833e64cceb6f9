#include "runtime/engine/team.h"

#include <omp.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/check.h"

namespace tdsl::rt {

/// Thread 0 of a team, which only waits. OpenMP keeps the other threads as long as it lives.
class Leader {
 public:
  Leader() : thread_([this] { run(); }) {}
  ~Leader() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  void start(int threads, std::function<void(int)> work) {
    auto job = std::make_shared<Job>(Job{threads, threads - 1, std::move(work)});
    {
      const std::lock_guard lock(mutex_);
      last_ = job;
      next_ = std::move(job);
    }
    changed_.notify_all();
  }
  /// Waits until all threads have returned from the work started last.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return last_->running == 0; });
    last_ = nullptr;
  }
  /// False in a process forked from the one with the thread.
  [[nodiscard]] bool lives() const { return process_ == ::getpid(); }

 private:
  struct Job {
    int threads = 0;
    int running = 0;  ///< threads that have not returned
    std::function<void(int)> work;
  };

  void run() {
    while (true) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ends_ || next_ != nullptr; });
        if (next_ == nullptr) return;
        job = std::move(next_);
        next_ = nullptr;
      }
#pragma omp parallel num_threads(job->threads)
      run_member(*job);
    }
  }

  void run_member(Job& job) {
    const int thread = omp_get_thread_num();
    if (thread > 0) job.work(thread);
    std::unique_lock lock(mutex_);
    job.running -= thread > 0 ? 1 : job.threads - omp_get_num_threads();
    if (job.running == 0) changed_.notify_all();
    // Waiting here takes no processor time, unlike at the end of the region.
    if (thread == 0) changed_.wait(lock, [&job] { return job.running == 0; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Job> next_;  ///< to be started
  std::shared_ptr<Job> last_;
  bool ends_ = false;
  const pid_t process_ = ::getpid();
  std::thread thread_;  ///< uses the other members
};

namespace {

/// Teams that have no work.
class SpareTeams {
 public:
  /// Threads of a process do not exist in its forks.
  ~SpareTeams() {
    for (std::unique_ptr<Leader>& leader : leaders_) {
      if (!leader->lives()) static_cast<void>(leader.release());
    }
  }
  std::unique_ptr<Leader> take() {
    const std::lock_guard lock(mutex_);
    while (!leaders_.empty()) {
      std::unique_ptr<Leader> leader = std::move(leaders_.back());
      leaders_.pop_back();
      if (leader->lives()) return leader;
      static_cast<void>(leader.release());
    }
    return std::make_unique<Leader>();
  }
  void give_back(std::unique_ptr<Leader> leader) {
    const std::lock_guard lock(mutex_);
    leaders_.push_back(std::move(leader));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Leader>> leaders_;
};

SpareTeams& spare_teams() {
  static SpareTeams all;
  return all;
}

}  // namespace

Team::Team(int threads, std::function<void(int)> work) {
  try {
    leader_ = spare_teams().take();
  } catch (const std::system_error& error) {
    throw RunError(std::string("the system starts no thread: ") + error.what() + " [out-of-memory]");
  }
  leader_->start(threads, std::move(work));
}

Team::~Team() {
  leader_->wait();
  spare_teams().give_back(std::move(leader_));
}

}  // namespace tdsl::rt
