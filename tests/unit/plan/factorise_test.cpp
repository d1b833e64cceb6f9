#include <doctest/doctest.h>

#include "runtime/plan/factorise.h"

using namespace tdsl::plan;

TEST_CASE("factorise: tall QR is indirect where many rows pay for a second tree, or where it is forced") {
  CHECK(indirect_qr(Factorise::kAuto, 4, 65160, 8, 64));
  CHECK_FALSE(indirect_qr(Factorise::kAuto, 4, 5792, 90, 16));
  CHECK_FALSE(indirect_qr(Factorise::kAuto, 64, 65160, 8, 64));
  CHECK_FALSE(indirect_qr(Factorise::kDistributed, 4, 65160, 8, 64));
  CHECK(indirect_qr(Factorise::kIndirect, 4, 47, 5, 2));
}

TEST_CASE("factorise: small operands stay on one rank unless a form is forced") {
  CHECK_FALSE(distributes(Factorise::kAuto, 4, kGatheredBytes));
  CHECK(distributes(Factorise::kAuto, 4, kGatheredBytes + 1));
  CHECK_FALSE(distributes(Factorise::kAuto, 1, 100 * kGatheredBytes));
  CHECK_FALSE(distributes(Factorise::kLocal, 4, 100 * kGatheredBytes));
  CHECK(distributes(Factorise::kIndirect, 1, 1));
}
