#include <algorithm>
#include <array>
#include <string>

#include "tests/unit/passes/support.h"

// The bins of random points, with bounds that ascend or do not: both forms of each program, whatever its sizes.

namespace {

using namespace tdsl;

/// The text with `ge(…, 4096)` and `ge(…, 16)`, the least numbers of points and bins, as `ge(…, 0)`.
std::string for_all_sizes(std::string text) {
  for (const std::string least : {", 4096)", ", 16)"}) {
    for (std::size_t at = text.find(least); at != std::string::npos; at = text.find(least))
      text.replace(at, least.size(), ", 0)");
  }
  return text;
}

void check_bins(const std::string& low, const std::string& high, const std::string& begins, const std::string& ends) {
  const auto reduced = [&](const std::string& name, const std::string& value, const std::string& more) {
    return name + " = compute [b in 0..%1] " + value + " where and(" + begins + "(" + low + ", %2[k]), " + ends +
           "(%2[k], " + high + "))" + more + "\n";
  };
  const std::string text =
      "program \"t\"\n%0:i64 \"n\" = dimension \"n\"\n%1:i64 \"m\" = dimension \"m\"\n"
      "%2:f64[%0] \"x\" = input \"x\"\n%3:f64[%0] \"d\" = input \"d\"\n%4:f64[%1] \"low\" = input \"low\"\n" +
      reduced("%5:f64[%1] \"s\"", "sum[k in 0..%0] (%3[k])", "") +
      reduced("%6:i64[%1] \"c\"", "sum[k in 0..%0] (1)", "") +
      reduced("%7:f64[%1] \"least\"", "min[k in 0..%0] (%3[k])", "") +
      "output \"s\" %5\noutput \"c\" %6\noutput \"least\" %7\n";
  const ir::Program before = ir::parse(text);
  tests::check_verified(before);
  passes::PassContext context;
  const auto table = passes::pipeline();
  const auto pass = std::ranges::find(table, std::string_view("bins"), &passes::Pass::name);
  const std::string after = ir::print(pass->run(before, context));
  CHECK_MESSAGE(after.find("by search") != std::string::npos, after);
  const ir::Program always = ir::parse(for_all_sizes(after));
  tests::check_verified(always);
  tests::check_same_meaning(before, always);
}

}  // namespace

TEST_CASE("passes bins: points are in the bins of the guard") {
  constexpr std::array<std::array<const char*, 2>, 4> kBounds{
      {{"sub(mul(f64(b), 0.75), 2.0)", "sub(mul(f64(add(b, 1)), 0.75), 2.0)"},
       {"mul(f64(b), 0.5)", "add(mul(f64(b), 0.5), 0.25)"},
       {"f64(b)", "add(f64(b), 1.5)"},
       {"%4[b]", "add(%4[b], 0.5)"}}};
  for (const auto& [low, high] : kBounds) {
    for (const char* begins : {"le", "lt"}) {
      for (const char* ends : {"le", "lt"}) check_bins(low, high, begins, ends);
    }
  }
}
