#include <fmt/format.h>

#include "tests/unit/algebra/support.h"

namespace tdsl::tests::relations {

using namespace ir::algebra;

namespace {

using Sentences = std::vector<std::string>;

Sentences violations(const std::string& text) {
  Pool pool;
  return verify(parse(pool, text));
}
/// Operators on A (2 x 3 blocks of 2 x 2) and, as %1, B of the same type, without sites.
Sentences logical(const std::string& text) {
  return violations("%0 = input \"A\" keys [2, 3] block [2, 2] %1 = input \"B\" keys [2, 3] block [2, 2]\n" + text);
}
/// The same on sites.
Sentences on_sites(std::string_view a, std::string_view b, const std::string& text) {
  return violations(
      fmt::format("%0 = input \"A\" keys [2, 3] block [2, 2] {} %1 = input \"B\" keys [2, 3] block [2, 2] {}\n", a, b) +
      text);
}

std::string parse_error(const std::string& text) {
  Pool pool;
  try {
    static_cast<void>(parse(pool, text));
  } catch (const std::runtime_error& error) { return error.what(); }
  return "none";
}

}  // namespace

TEST_CASE("algebra verifier: keys are unique") {
  CHECK(logical("%2 = rekey %0 [k0] result \"\" %2") ==
        Sentences{"rekey %0 [k0]: keys are not unique: [0, 0] and [0, 1] both become [0]"});
  CHECK(logical("%2 = filter %0 where k1 == k0 %3 = rekey %2 [k0] result \"\" %3").empty());
  CHECK(logical("%2 = flatmap %0 count 2 keys [k0 + t, k1] result \"\" %2") ==
        Sentences{
            "flatmap %0 count 2 keys [k0 + t, k1]: keys are not unique: [0, 0, 1] and [1, 0, 0] both become [1, 0]"});
  CHECK(logical("%2 = flatmap %0 count 2 keys [2*k0 + t, k1] result \"\" %2").empty());
  CHECK(logical("%2 = join %0, %1 on [1], [1] by add rekey [k0, k1] result \"\" %2") ==
        Sentences{"join %0, %1 on [1], [1] by add rekey [k0, k1]: keys are not unique: [0, 0, 0] and [0, 0, 1] both "
                  "become [0, 0]"});
}

TEST_CASE("algebra verifier: absent blocks are zero blocks wherever they are used") {
  const std::string lower = "%2 = filter %0 where k1 <= k0 ";
  CHECK(logical(lower + "%3 = aggregate %2 keep [0] by add result \"\" %3").empty());
  CHECK(logical(lower + "%3 = aggregate %2 keep [0] by max result \"\" %3") ==
        Sentences{"aggregate %1 keep [0] by max: absent blocks are left out of an aggregation by max: "
                  "the group of key [0] has 1 of 2 blocks"});
  CHECK(logical("%2 = filter %0 where k1 < 2 %3 = aggregate %2 keep [0] by max result \"\" %3").empty());
  // Wholly absent groups are allowed.
  CHECK(logical("%2 = filter %0 where k0 == 1 %3 = aggregate %2 keep [0] by max result \"\" %3").empty());

  CHECK(logical(lower + "%3 = map %2 by relu result \"\" %3").empty());
  CHECK(logical(lower + "%3 = map %2 by shift(1) result \"\" %3") ==
        Sentences{"map %1 by shift(1): the result has absent blocks of unknown value"});
  CHECK(logical(lower + "%3 = map %2 by sigmoid %4 = aggregate %3 keep [0] by add result \"\" %4").size() == 1);
  CHECK(logical(lower + "%3 = map %2 by sigmoid %4 = concat %3 key 1 dim 1 result \"\" %4") ==
        Sentences{"concat %2 key 1 dim 1: absent blocks of unknown value are concatenated for key [0]"});
  CHECK(logical(lower + "%3 = concat %2 key 1 dim 1 result \"\" %3").empty());
  // Absent entries with unknown value may be filtered out again.
  CHECK(logical("%2 = filter %0 where k1 == k0 %3 = map %2 by sigmoid %4 = rekey %3 [k0] result \"\" %4").empty());

  const std::string masked = lower + "%3 = join %2, %1 on [0, 1], [0, 1] by ";
  CHECK(logical(masked + "mul result \"\" %3").empty());
  CHECK(logical(masked + "add result \"\" %3").size() == 1);  // B where A is absent is lost
  CHECK(logical(masked + "mul then sigmoid result \"\" %3").size() == 1);
  CHECK(logical(lower + "%3 = filter %1 where k1 <= k0 %4 = join %2, %3 on [0, 1], [0, 1] by add result \"\" %4")
            .empty());
  CHECK(violations("%0 = input \"A\" keys [2, 2] where k0 == k1 block [] %1 = map %0 by shift(2) result \"\" %1")
            .size() == 1);
}

TEST_CASE("algebra verifier: joined blocks meet") {
  const auto join = [](std::string_view on) {
    return fmt::format("%2 = local join %0, %1 on {} by add result \"\" %2", on);
  };
  CHECK(on_sites("part [1]", "part [1]", join("[0, 1], [0, 1]")).empty());
  CHECK(on_sites("part [0]", "part [1]", join("[0, 1], [0, 1]")) ==
        Sentences{"local join %0, %1 on [0, 1], [0, 1] by add: joined blocks may lie on different sites: left part "
                  "[0], right part [1]"});
  CHECK(on_sites("part [0, 1]", "part [1, 0]", join("[0, 1], [0, 1]")).size() == 1);
  CHECK(on_sites("part [0, 1]", "part [0]", join("[0, 1], [0, 1]")).size() == 1);
  CHECK(on_sites("part [0]", "part [0]", join("[1], [1]")).size() == 1);
  CHECK(on_sites("part []", "part []", join("[1], [1]")).empty());
  CHECK(on_sites("loose", "loose", join("[0, 1], [0, 1]")).size() == 1);
  CHECK(on_sites("loose", "all", join("[0, 1], [0, 1]")).empty());
  // On a mesh, axis by axis: A's rows and B's columns are spread, each copied along the other's axis.
  CHECK(on_sites("mesh ab part [0:a]", "mesh ab part [0:b]", join("[1], [1]")).empty());
  CHECK(on_sites("mesh ab part [0:a] part [1:b]", "mesh ab part [1:b]", join("[1], [1]")).empty());
  CHECK(on_sites("mesh ab part [1:ab]", "mesh ab part [1:ab]", join("[1], [1]")).empty());
  CHECK(on_sites("mesh ab part [1:ab]", "mesh ab part [1:ba]", join("[1], [1]")).size() == 1);
  CHECK(on_sites("mesh ab part [1:ab]", "mesh ab part [1:a]", join("[1], [1]")).empty());
  CHECK(on_sites("mesh ab part [1:ab]", "mesh ab part [1:b]", join("[1], [1]")).size() == 1);
  CHECK(on_sites("mesh ab part [1:a] part [0:b]", "mesh ab part [1:ab]", join("[1], [1]")).size() == 1);
}

TEST_CASE("algebra verifier: partial results are aggregated before they are used") {
  const std::string pieces = "%2 = local aggregate %0 keep [0] by add ";
  CHECK(on_sites("part [0]", "all", pieces + "result \"\" %2").empty());
  CHECK(on_sites("part [1]", "all", pieces + "result \"\" %2") ==
        Sentences{"local aggregate %0 keep [0] by add: the result is partial: its pieces are not aggregated"});
  CHECK(on_sites("loose", "all", pieces + "result \"\" %2").size() == 1);
  CHECK(on_sites("all", "all", pieces + "result \"\" %2").empty());
  const std::string whole = " %9 = shuf %3 part [0] %10 = local aggregate %9 keep [0] by add result \"\" %10";
  CHECK(on_sites("part [1]", "all", pieces + "%3 = local map %2 by scale(2)" + whole).empty());
  CHECK(on_sites("part [1]", "all", pieces + "%3 = local map %2 by relu" + whole) ==
        Sentences{"local map %1 by relu: relu is applied to partial results: it does not distribute over add"});
  CHECK(on_sites("part [1]", "all", "%3 = local aggregate %0 keep [0] by add then relu" + whole).size() == 1);
  CHECK(on_sites("part [1]", "all", "%3 = local aggregate %0 keep [0] by max" + whole) ==
        Sentences{"local aggregate %2 keep [0] by add: partial results of max are aggregated by add"});
  CHECK(on_sites("part [1]", "all", pieces + "%3 = local join %2, %1 on [0], [0] by add result \"\" %3") ==
        Sentences{"local join %1, %2 on [0], [0] by add: partial results are joined"});
  CHECK(on_sites("part [1]", "all", pieces + "%3 = local concat %2 key 0 dim 0 result \"\" %3") ==
        Sentences{"local concat %1 key 0 dim 0: blocks on different sites are concatenated",
                  "local concat %1 key 0 dim 0: partial results are concatenated"});
  CHECK(on_sites("part [1]", "all", "%2 = local concat %0 key 1 dim 0 result \"\" %2") ==
        Sentences{"local concat %0 key 1 dim 0: blocks on different sites are concatenated"});
  CHECK(on_sites("part [0]", "all", "%2 = local concat %0 key 1 dim 0 result \"\" %2").empty());
}

TEST_CASE("algebra text: ill-typed and malformed expressions are refused with their position") {
  const std::string a = "%0 = input \"A\" keys [2, 3] block [2, 4]\n";
  const auto error = [&](const std::string& line) { return parse_error(a + "%1 = " + line); };
  CHECK(error("aggregate %0 keep [2] by add").ends_with("keep [2]: keys have 2 dimensions"));
  CHECK(error("aggregate %0 keep [1, 1] by add").ends_with("keep [1, 1] names a dimension twice"));
  CHECK(error("aggregate %0 keep [0] by sub").ends_with("sub cannot aggregate blocks [2, 4]"));
  CHECK(error("join %0, %0 on [0, 1], [0] by add") ==
        "2:39: a join pairs as many dimensions on the left as on the right");
  CHECK(error("join %0, %0 on [0], [0] by matmul").ends_with("matmul of [2, 4] [2, 4]: label k has two extents"));
  CHECK(error("map %0 by diag").ends_with("diag of [2, 4]: a square matrix is needed"));
  CHECK(error("map %0 by sum(2)").ends_with("sum(2) of [2, 4]: there is no such dimension"));
  CHECK(error("rekey %0 [k2]").ends_with("the new key mentions k2: there are 2 values"));
  CHECK(error("rekey %0 [k0 - 1, k1]").ends_with("key [0, 0] becomes [-1, 0], which is negative"));
  CHECK(error("filter %0 where k2 == 0").ends_with("the condition mentions k2: there are 2 values"));
  CHECK(error("tile %0 dim 1 size 3").ends_with("blocks [2, 4] cannot be cut into 1 pieces of 3 along dimension 1"));
  CHECK(error("tile %0 dim 2 size 1").ends_with("blocks [2, 4] have no dimension 2"));
  CHECK(error("concat %0 key 2 dim 0").ends_with("concat key [2]: keys have 2 dimensions"));
  CHECK(error("flatmap %0 count 0 keys [k0]").ends_with("a flatMap's count is at least 1"));
  CHECK(error("bcast %0").ends_with("bcast and shuf take relations that lie on sites"));
  CHECK(error("local filter %0 where k0 == 0").ends_with("this filter is not local: its operands are on no sites"));
  CHECK(error("map %0 by blur").ends_with("no kernel is called `blur`"));
  CHECK(error("map %0 by scale(true)").ends_with("expected a number"));
  CHECK(error("aggregate %0 keep [4294967296] by add").ends_with("expected a position"));
  CHECK(error("shift %0").ends_with("no operator is called `shift`"));
  CHECK(error("map %7 by relu") == "2:12: %7 is not defined");
  CHECK(error("rekey %0 [i]").ends_with("expected a key value k0, k1, .., not `i`"));
  CHECK(error("filter %0 where k0").ends_with("expected a comparison"));
  CHECK(parse_error(a + "%0 = bcast %0").ends_with("bcast and shuf take relations that lie on sites"));
  CHECK(parse_error(a + a).ends_with("%0 is defined twice"));
  const std::string b = "%0 = input \"A\" keys [2] block [] part [0]\n%1 = ";
  CHECK(parse_error(b + "shuf %0 part [1]").ends_with("part [1]: keys have 1 dimensions"));
  CHECK(parse_error(b + "shuf %0 loose").ends_with("a shuffle says where tuples go"));
  CHECK(parse_error(b + "shuf %0 mesh ab part [0:a]").ends_with("the layouts are of different meshes"));
  CHECK(parse_error(b + "shuf %0 mesh ab part [0:c]").ends_with("the mesh has no axis c"));
  CHECK(parse_error(b + "input \"B\" keys [2] block [] %2 = join %0, %1 on [0], [0] by add")
            .ends_with("a relation on sites is joined with one without"));
  CHECK(parse_error(b + "input \"B\" keys [2] block [] mesh ab part [0:a] part [0:a]")
            .ends_with("a layout names an axis twice or one that the mesh does not have"));
}

}  // namespace tdsl::tests::relations
