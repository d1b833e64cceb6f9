#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fuzz/frontend_fuzz.h"

// Inputs that the fuzzer found (tests/fuzz/corpus), and every program of the repository.

namespace fs = std::filesystem;

namespace {

std::size_t replay(const fs::path& folder, const std::string& extension) {
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || (!extension.empty() && entry.path().extension() != extension))
      continue;
    INFO(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    tdsl::tests::fuzz_frontend(text.str());
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("what the fuzzer found stays found") {
  CHECK(replay(fs::path(TDSL_SOURCE_DIR) / "tests/fuzz/corpus", "") > 0);
}

TEST_CASE("every program of the repository is laid out stably and keeps its meaning") {
  for (const char* folder : {"samples", "stdlib", "tests/e2e"})
    CHECK(replay(fs::path(TDSL_SOURCE_DIR) / folder, ".tdsl") > 0);
}
