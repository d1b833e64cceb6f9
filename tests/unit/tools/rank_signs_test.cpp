#include <doctest/doctest.h>

#include <map>
#include <string>

#include "tests/unit/temporary_folder.h"
#include "tools/tdslc/setup/rank_signs.h"

namespace tdsl {

namespace {

using Signs = std::map<int, std::string>;

void put(const Signs& signs, const codegen::testing::TemporaryFolder& folder) {
  for (const auto& [rank, text] : signs) codegen::testing::put_content(folder / ("rank-" + std::to_string(rank)), text);
}

std::string lost(const Signs& signs, int exit_code,
                 const std::string& killed = ", as the system does when memory runs out") {
  const codegen::testing::TemporaryFolder folder;
  put(signs, folder);
  return tools::lost_ranks(folder.path(), exit_code, killed);
}

int caught(const Signs& signs, std::int64_t ranks) {
  const codegen::testing::TemporaryFolder folder;
  put(signs, folder);
  return tools::signal_of_all(folder.path(), ranks);
}

}  // namespace

TEST_CASE("the rank that was ended first is named, however the launcher ends the others") {
  CHECK(lost({{0, "15 200"}, {1, "15 100"}, {2, "15 300"}}, 143) == "rank 1 was ended by signal 15 (Terminated)");
  CHECK(lost({{0, ""}, {1, "15 100"}, {2, "15 300"}}, 143) == "rank 1 was ended by signal 15 (Terminated)");
  CHECK(lost({{0, "15 200"}, {1, ""}}, 137) ==
        "rank 1 was ended by signal 9 (Killed), as the system does when memory runs out");
  CHECK(lost({{0, "15 200"}, {1, ""}, {2, ""}}, 139) == "ranks 1, 2 were ended by signal 11 (Segmentation fault)");
  CHECK(lost({{0, "15 200"}, {1, "15 100"}}, 139) == "rank 1 was ended by signal 15 (Terminated)");
  CHECK(lost({}, 143).empty());
  CHECK(lost({{0, ""}}, 1).empty());
  CHECK(lost({{0, "15 200"}, {1, ""}}, 137, ", because") == "rank 1 was ended by signal 9 (Killed), because");
}

TEST_CASE("a launcher that ends all ranks by one signal was told to end") {
  CHECK(caught({{0, "15 200"}, {1, "15 100"}}, 2) == 15);
  CHECK(caught({{0, "15 200"}, {1, "15 100"}}, 3) == 0);
  CHECK(caught({{0, "15 200"}, {1, ""}}, 2) == 0);
  CHECK(caught({{0, "15 200"}, {1, "2 100"}}, 2) == 0);
  CHECK(caught({}, 0) == 0);
}

}  // namespace tdsl
