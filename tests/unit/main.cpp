#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/outcomes.h"

#include <iostream>

REGISTER_LISTENER("outcomes", 1, tdsl::tests::OutcomeListener);

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  context.setOption("no-intro", true);
  const int result = context.run();
  tdsl::tests::write_outcomes(std::cout, "unit: ");
  return result;
}
