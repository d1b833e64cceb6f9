#include "runtime/library/library.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/app/session/session.h"

using namespace tdsl::rt;

namespace {

int walks = 0;  ///< of the program: surveys and runs

const ProgramInfo& info() {
  static const ProgramInfo made = [] {
    ProgramInfo program("twice", "twice.tdsl", "twice");
    program.param("unused", ElementType::kI64, "0");
    program.input("x", "f64[n]", ElementType::kF64, {"n"}, 1);
    program.output("y", "f64[n]", 1);
    program.dimensions({"n"});
    return program;
  }();
  return made;
}

void program(Session& session) {
  ++walks;
  const Index n = session.dimension("n");
  auto x = session.input<double>("x", {n}, 1, 1);
  session.output("y", std::move(x), 2, 1);
}

/// Times that a call with n elements walks through the program; checks its result.
int walks_of_call(Library* library, std::int64_t n) {
  const int before = walks;
  std::vector<double> values(static_cast<std::size_t>(n), 2.5), results(values.size(), 0.0);
  tdsl_box read{values.data(), {0}, {n}, {1}}, written{results.data(), {0}, {n}, {1}};
  const tdsl_array x{"x", TDSL_F64, 1, {n}, 1, &read};
  tdsl_array y{"y", TDSL_F64, 1, {n}, 1, &written};
  const int code = run_library(library, &x, 1, &y, 1);
  CHECK_MESSAGE(code == TDSL_GOOD, library_message(library));
  CHECK(results == values);
  return walks - before;
}

}  // namespace

TEST_CASE("library: only calls with new shapes or params are surveyed") {
  Library* library = nullptr;
  const char* const options[] = {"--threads", "1"};
  REQUIRE(open_library(info, program, nullptr, false, options, 2, &library) == TDSL_GOOD);
  int ranks = 1;
  const int surveyed = rank_in_library(library, &ranks) == 0 ? 2 : 1;  // rank 0 surveys for all
  CHECK(walks_of_call(library, 8) == surveyed);
  CHECK(walks_of_call(library, 8) == 1);
  CHECK(walks_of_call(library, 9) == surveyed);
  CHECK(walks_of_call(library, 8) == 1);
  const char* const params[] = {"--set", "unused=3"};
  REQUIRE(set_library_params(library, params, 2) == TDSL_GOOD);
  CHECK(walks_of_call(library, 8) == surveyed);
  CHECK(walks_of_call(library, 8) == 1);
  REQUIRE(set_library_params(library, nullptr, 0) == TDSL_GOOD);
  CHECK(walks_of_call(library, 9) == 1);
  close_library(library);
}
