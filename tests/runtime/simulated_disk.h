#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/disk/disk.h"
#include "tests/runtime/simulated_world.h"

namespace tdsl::tests {

/// A simulated disk: durations, completion order and failures of requests follow from a seed. Memory to be written is
/// read late, and memory being read contains garbage until completion.
class SimulatedDisk final : public rt::Disk {
 public:
  /// Request number `failing` (from 1) fails; 0: none does.
  SimulatedDisk(Simulation& simulation, std::uint64_t seed, plan::Index failing = 0)
      : simulation_(simulation), random_(seed), failing_(failing) {
    constexpr int kSlowness[] = {0, 2, 5, 15};
    slowness_ = kSlowness[random_() % 4];
  }

  std::size_t test_some(std::vector<rt::DiskCompletion>& done) override {
    std::size_t count = 0;
    for (std::size_t k = 0; k < pending_.size();) {
      if (pending_[k].polls-- > 0) {
        ++k;
        continue;
      }
      const Pending over = std::move(pending_[k]);
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(k));
      if (over.fails) {
        done.push_back({over.cookie, "the disk is broken", 0, {}, {}});
      } else {
        over.work();
        done.push_back({over.cookie, {}, 0, {}, {}});
      }
      ++count;
    }
    if (count > 0 || !pending_.empty()) simulation_.touch();
    return count;
  }
  void tell(std::function<void(int)>) override {}
  [[nodiscard]] bool must_be_asked() const override { return true; }
  void stop() override { pending_.clear(); }

 private:
  struct Pending {
    std::uint64_t cookie;
    std::function<void()> work;
    int polls;
    bool fails;
  };

  void begin(std::uint64_t cookie, std::function<void()> work) {
    const int polls = slowness_ == 0 ? 0 : static_cast<int>(random_() % static_cast<unsigned>(slowness_));
    pending_.push_back({cookie, std::move(work), polls, ++begun_ == failing_});
  }
  void begin_write(plan::Index offset, std::span<const std::byte> from, std::uint64_t cookie) override {
    begin(cookie, [this, offset, from] {
      file_.resize(std::max(file_.size(), static_cast<std::size_t>(offset) + from.size()));
      std::memcpy(file_.data() + offset, from.data(), from.size());
    });
  }
  void begin_read(const rt::DiskBox& box, std::byte* to, std::uint64_t cookie) override {
    std::memset(to, 0x7f, static_cast<std::size_t>(box.part.volume() * box.element_bytes));
    begin(cookie, [this, box, to] {
      rt::for_each_run(box, [&](plan::Index offset, plan::Index bytes, plan::Index place) {
        TDSL_CHECK(static_cast<std::size_t>(offset + bytes) <= file_.size(), "reads lie within the written file");
        std::memcpy(to + place, file_.data() + offset, static_cast<std::size_t>(bytes));
      });
    });
  }
  void begin_load(std::function<void()> read, std::uint64_t cookie) override { begin(cookie, std::move(read)); }

  Simulation& simulation_;
  std::mt19937_64 random_;
  int slowness_ = 0;
  plan::Index failing_ = 0, begun_ = 0;
  std::vector<Pending> pending_;
  std::vector<std::byte> file_;
};

}  // namespace tdsl::tests
