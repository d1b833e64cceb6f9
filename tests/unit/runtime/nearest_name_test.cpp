#include "runtime/base/nearest_name.h"

#include <doctest/doctest.h>

#include <vector>

TEST_CASE("nearest name") {
  using tdsl::rt::nearest_name;
  const std::vector<std::string> names = {"input", "output", "import", "X", "tan", "lambda", "steps", "tanh", "atan"};
  CHECK(nearest_name("inptu", names) == "input");
  CHECK(nearest_name("INPUT", names) == "input");
  CHECK(nearest_name("outputs", names) == "output");
  CHECK(nearest_name("lamdba", names) == "lambda");
  CHECK(nearest_name("step", names) == "steps");
  // One edit makes `tahn` `tan` and `tanh`; the letters are those of `tanh`.
  CHECK(nearest_name("tahn", names) == "tanh");
  CHECK(nearest_name("TAHN", names) == "tanh");
  CHECK(nearest_name("tann", names) == "tan");
  CHECK(nearest_name("zebra", names).empty());
  CHECK(nearest_name("completely", names).empty());
  CHECK(nearest_name("Y", names).empty());
}
