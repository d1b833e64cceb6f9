#pragma once

#include <unordered_map>

namespace tdsl::rt {

/// Where a rank's time goes: the front is the site of its least unfinished step, and every moment belongs to it.
class Front {
 public:
  static constexpr int kNowhere = -1;  ///< no step is open: the program records, plans, reads files or prints

  struct Seconds {
    double wall = 0;     ///< the front stood there
    double waiting = 0;  ///< of threads that had nothing to run meanwhile, summed
    double disk = 0;     ///< of these: while something was read from this rank's disk or written there
  };

  [[nodiscard]] int site() const { return site_; }
  void move(double now, int site) {
    settle(now);
    site_ = site;
  }
  /// So many threads more (or less) have nothing to run.
  void idle(double now, int change) {
    settle(now);
    idle_ += change;
  }
  /// Something is read or written from now on, or nothing.
  void use_disk(double now, bool used) {
    settle(now);
    disk_used_ = used;
  }
  void settle(double now) {
    Seconds& here = seconds_[site_];
    here.wall += now - last_;
    here.waiting += idle_ * (now - last_);
    if (disk_used_) here.disk += idle_ * (now - last_);
    last_ = now;
  }
  [[nodiscard]] Seconds at(int site) const {
    const auto found = seconds_.find(site);
    return found == seconds_.end() ? Seconds{} : found->second;
  }

 private:
  int site_ = kNowhere;
  int idle_ = 0;
  bool disk_used_ = false;
  double last_ = 0;
  std::unordered_map<int, Seconds> seconds_;
};

}  // namespace tdsl::rt
