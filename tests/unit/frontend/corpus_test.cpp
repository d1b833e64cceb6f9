#include <doctest/doctest.h>

#include <filesystem>

#include "tests/fuzz/compiler_fuzz.h"

// Inputs found by the fuzzers (tests/fuzz/corpus), and every program of the repository.

namespace fs = std::filesystem;

namespace {

/// `whole`: through the whole compiler.
std::size_t replay(const fs::path& folder, const std::string& extension, bool whole) {
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || (!extension.empty() && entry.path().extension() != extension)) continue;
    INFO(entry.path().string());
    const std::string text = tdsl::tests::text_of(entry.path()).value_or("");
    if (whole) {
      tdsl::tests::fuzz_compiler(text, fs::path(TDSL_SOURCE_DIR) / "stdlib", true);
    } else {
      tdsl::tests::fuzz_frontend(text);
    }
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("regressions found by the fuzzers") {
  CHECK(replay(fs::path(TDSL_SOURCE_DIR) / "tests/fuzz/corpus", "", true) > 0);
}

TEST_CASE("every program of the repository is laid out stably and keeps its meaning") {
  for (const char* folder : {"samples", "stdlib", "tests/e2e"})
    CHECK(replay(fs::path(TDSL_SOURCE_DIR) / folder, ".tdsl", false) > 0);
}
