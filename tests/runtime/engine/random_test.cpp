#include <cstdio>
#include <cstdlib>

#include "tests/runtime/engine/random.h"

namespace tdsl::tests {

TEST_CASE("engine: random programs agree with a sequential evaluation") {
  // TDSL_TEST_PROGRAMS=FIRST:LAST selects other seeds.
  std::uint32_t first = 1;
  std::uint32_t last = 40;
  if (const char* range = std::getenv("TDSL_TEST_PROGRAMS")) std::sscanf(range, "%u:%u", &first, &last);
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    RunSettings settings;
    settings.threads = 1 + static_cast<int>(random() % 3);
    const std::vector<std::vector<Index>> tiles{{}, {1}, {3}, {4, 7}, {100}};
    settings.tile = tiles[random() % tiles.size()];
    settings.delay_seed = random() % 3 == 0 ? seed : 0;
    settings.small_box = random() % 2 == 0 ? 100 : 8192;
    Index wrong = -1;
    try {
      RunResult about;
      wrong = run_random(seed, settings, &about);
      // The same with a small window: the need of the first plan's largest step.
      wrong += run_in_least_window(seed, settings, std::max<Index>(about.largest_step, 1));
    } catch (const rt::RunError& error) { FAIL_CHECK(std::string(error.what())); }
    CHECK(wrong == 0);
  }
}

}  // namespace tdsl::tests
