#include "runtime/disk/disk_rates.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/check.h"
#include "runtime/disk/spill_file.h"
#include "runtime/message_id.h"
#include "runtime/plan/home.h"

namespace tdsl::rt {

using plan::Index;

namespace {

using Clock = DiskCompletion::Clock;

constexpr Index kRequest = Index{8} << 20;
constexpr Index kMostRequests = 32;
constexpr std::chrono::milliseconds kLongest{1500};

/// Keeps one request per disk thread in flight, each with its own buffer. Returns the number of requests and the
/// elapsed time.
template <class Begin>
std::pair<Index, double> in_turns(SpillFile& file, Index most, const Begin& begin) {
  const Clock::time_point start = Clock::now();
  Index begun = 0, over = 0;
  std::vector<std::size_t> free;
  for (std::size_t k = 0; k < kDiskThreads; ++k) free.push_back(k);
  std::vector<DiskCompletion> done;
  while (true) {
    while (!free.empty() && begun < most && (begun == 0 || Clock::now() - start < kLongest)) {
      begin(begun++, free.back());
      free.pop_back();
    }
    if (over == begun) break;
    done.clear();
    if (file.test_some(done) == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    for (const DiskCompletion& completion : done) {
      if (!completion.error.empty()) throw RunError(with_id(completion.error, "spill"));
      free.push_back(static_cast<std::size_t>(completion.cookie));
      ++over;
    }
  }
  return {over, std::chrono::duration<double>(Clock::now() - start).count()};
}

/// Fills with data that file systems cannot compress.
void fill(std::byte* data, Index bytes) {
  std::uint64_t state = 1;
  for (Index at = 0; at < bytes; at += 8) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t value = state ^ (state >> 29);
    std::memcpy(data + at, &value, 8);
  }
}

}  // namespace

DiskRates measure_disk(const std::string& folder, bool insisted) {
  DiskRates rates{.folder = folder};
  try {
    SpillFile file(folder, kMostRequests * kRequest, insisted);
    rates.direct = file.direct();
    std::vector<std::byte> memory(static_cast<std::size_t>(kDiskThreads * kRequest + plan::kDiskGrain));
    std::byte* const buffers =
        memory.data() +
        (plan::kDiskGrain - static_cast<Index>(reinterpret_cast<std::uintptr_t>(memory.data()) % plan::kDiskGrain));
    fill(buffers, kDiskThreads * kRequest);
    const auto buffer = [&](std::size_t k) { return buffers + static_cast<Index>(k) * kRequest; };
    const auto [written, writing] = in_turns(file, kMostRequests, [&](Index number, std::size_t k) {
      file.write(number * kRequest, {buffer(k), static_cast<std::size_t>(kRequest)}, k);
    });
    const plan::Box all = [&] {
      plan::Box box;
      box.rank = 1;
      box[0] = {0, kRequest};
      return box;
    }();
    const auto [read, reading] = in_turns(file, written, [&](Index number, std::size_t k) {
      file.read({number * kRequest, 1, all, all}, buffer(k), k);
    });
    rates.write = static_cast<double>(written * kRequest) / writing;
    rates.read = static_cast<double>(read * kRequest) / reading;
  } catch (const RunError& error) { rates.trouble = error.what(); }
  return rates;
}

}  // namespace tdsl::rt
