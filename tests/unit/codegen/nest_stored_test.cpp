#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "codegen/lower/program.h"
#include "ir/eval/expr.h"
#include "passes/passes.h"
#include "tests/unit/nest_runner.h"
#include "tests/unit/passes/support.h"

// Kernels over stored elements: nests of random Computes with compressed matrices, compared with the evaluator.

namespace {

using namespace tdsl;

/// Writes a program of one Compute that can iterate over A (n x m, compressed); B is also compressed; x, y, U, V are
/// dense.
class StoredComputeWriter {
 public:
  explicit StoredComputeWriter(std::uint64_t seed) : random_(seed) {}

  std::string program() {
    const int shape = pick(static_cast<int>(kShapes.size()));
    const Shape& s = kShapes[static_cast<std::size_t>(shape)];
    labels_ = std::string(s.out) + s.reduce;
    const std::string monoid = s.reduce[0] == '\0' ? "" : this->monoid();
    // Elements not stored are 0.
    const bool compressed = std::string(s.out) == "ij" && (monoid.empty() || monoid == "sum") && pick(2) == 0;
    std::string text =
        "program \"p\"\n%0:i64 \"n\" = dimension \"n\"\n%1:i64 \"m\" = dimension \"m\"\n%2:i64 \"d\" = dimension "
        "\"d\"\n"
        "%3:f64[%0, compressed %1] \"A\" = input \"A\"\n%4:f64[%0, compressed %1] \"B\" = input \"B\"\n"
        "%5:f64[%0] \"x\" = input \"x\"\n%6:f64[%1] \"y\" = input \"y\"\n%7:f64[%0, %2] \"U\" = input "
        "\"U\"\n%8:f64[%2, %1] \"V\" = input \"V\"\n";
    std::string type;
    for (const char l : std::string(s.out))
      type += std::string(type.empty() ? "" : ", ") + (compressed && l == 'j' ? "compressed " : "") + extent(l);
    text += "%9:f64" + (type.empty() ? "" : "[" + type + "]") + " \"r\"" + " = compute [" + ranges(s.out) + "]";
    // Without a product or a sum zero bodies count, so the guard determines the iteration.
    const bool guarded = pick(3) == 0 || (!monoid.empty() && monoid != "sum");
    if (!monoid.empty()) text += " " + monoid + "[" + ranges(s.reduce) + "]";
    const std::string body = guarded ? value(2) : pick(2) == 0 ? "absent_mul(%3[i, j], " + value(2) + ")" : joint();
    text += " (" + body + ")";
    if (guarded) text += " where " + guard();
    text += "\n";
    if (!compressed) return text + "output \"r\" %9\n";
    // Compressed tensors are read again: outputs cannot be iterated sparsely yet.
    return text + "%10:f64[%0, %1] \"q\" = compute [i in 0..%0, j in 0..%1] (%9[i, j])\noutput \"r\" %10\n";
  }

 private:
  struct Shape {
    const char* out;
    const char* reduce;
  };
  static constexpr std::array<Shape, 13> kShapes = {{{"i", "j"},
                                                     {"j", "i"},
                                                     {"", "ij"},
                                                     {"ij", ""},
                                                     {"ij", "f"},
                                                     {"if", "j"},
                                                     {"jf", "i"},
                                                     {"fi", "j"},
                                                     {"i", "jf"},
                                                     {"", "ijf"},
                                                     {"j", "if"},
                                                     {"f", "ij"},
                                                     {"if", "jg"}}};

  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  static std::string extent(char label) { return label == 'i' ? "%0" : label == 'j' ? "%1" : "%2"; }
  static std::string ranges(const char* labels) {
    std::string text;
    for (const char l : std::string(labels))
      text += fmt::format("{}{} in 0..{}", text.empty() ? "" : ", ", l, extent(l));
    return text;
  }
  std::string monoid() {
    const std::array<std::string, 6> all = {
        "sum", "sum", "sum", "min", "max", "user(\"last\", -inf, select(gt($1:f64, 0.5), $1:f64, $0:f64))"};
    // Users' usual order: rows first.
    return all[static_cast<std::size_t>(pick(6))];
  }
  std::string leaf() {
    const bool f = labels_.find('f') != std::string::npos;
    switch (pick(8)) {
      case 0: return "%3[i, j]";
      case 1: return "%4[i, j]";
      case 2: return "%5[i]";
      case 3: return "%6[j]";
      case 4: return f ? "%7[i, f]" : "%6[j]";
      case 5: return f ? "%8[f, j]" : "%5[i]";
      case 6: return pick(2) == 0 ? "f64(i)" : "f64(j)";
      default: return "1.5";
    }
  }
  std::string value(int depth) {
    if (depth == 0) return leaf();
    switch (pick(6)) {
      case 0: return "add(" + value(depth - 1) + ", " + value(depth - 1) + ")";
      case 1: return "mul(" + value(depth - 1) + ", " + value(depth - 1) + ")";
      case 2: return "max(" + value(depth - 1) + ", " + leaf() + ")";
      case 3: return "select(gt(" + leaf() + ", 0.5), " + value(depth - 1) + ", " + leaf() + ")";
      default: return value(depth - 1);
    }
  }
  /// Coordinates stored in A and B, or in one of them.
  std::string joint() {
    switch (pick(5)) {
      case 0: return "add(%3[i, j], absent_mul(%4[i, j], " + value(1) + "))";
      case 1: return "sub(absent_mul(%4[i, j], " + value(1) + "), %3[i, j])";
      case 2: return "max(%3[i, j], min(%4[i, j], %3[i, j]))";
      case 3: return "add(select(gt(%3[i, j], %4[i, j]), " + value(1) + ", 0.0), 0.0)";
      default: return "mutual_mul(%3[i, j], absent_mul(%4[i, j], " + value(1) + "))";
    }
  }
  std::string guard() {
    switch (pick(8)) {
      // Parts of rows.
      case 5: return "and(ne(%3[i, j], 0.0), eq(i, j))";
      case 6: return "and(ne(%3[i, j], 0.0), and(le(sub(i, 1), j), le(j, add(i, 1))))";
      case 7: return "and(eq(j, add(i, 1)), gt(%3[i, j], 0.5))";
      case 4: return "or(gt(%4[i, j], 0.5), lt(%3[i, j], 0.0))";
      case 0: return "ne(%3[i, j], 0.0)";
      case 1: return "and(gt(%3[i, j], 0.5), gt(%5[i], 0.0))";
      case 2: return "and(ne(%3[i, j], 0.0), ne(%4[i, j], 0.0))";
      default: return "and(ne(%3[i, j], 0.0), lt(i, j))";
    }
  }

  std::mt19937_64 random_;
  std::string labels_;
};

/// The same for products: A (n x m), B (m x d) and a mask M (n x d) are compressed.
class StoredProductWriter {
 public:
  explicit StoredProductWriter(std::uint64_t seed) : random_(seed) {}

  std::string program() {
    const auto& [out, reduce] = kShapes[static_cast<std::size_t>(pick(static_cast<int>(kShapes.size())))];
    const bool guarded = pick(3) == 0;
    const std::array<std::string, 3> monoids = {"sum", "min",
                                                "user(\"last\", -inf, select(gt($1:f64, 0.5), $1:f64, $0:f64))"};
    const std::string monoid = monoids[guarded ? static_cast<std::size_t>(pick(3)) : 0];
    const bool compressed = std::string(out) == "ij" && monoid == "sum" && pick(3) != 0;
    std::string text =
        "program \"p\"\n%0:i64 \"n\" = dimension \"n\"\n%1:i64 \"m\" = dimension \"m\"\n%2:i64 \"d\" = dimension "
        "\"d\"\n"
        "%3:f64[%0, compressed %1] \"A\" = input \"A\"\n%4:f64[%1, compressed %2] \"B\" = input \"V\"\n"
        "%5:f64[%0, compressed %2] \"M\" = input \"U\"\n%6:f64[%0] \"x\" = input \"x\"\n%7:f64[%1] \"y\" = "
        "input \"y\"\n";
    std::string type;
    for (const char l : std::string(out))
      type += std::string(type.empty() ? "" : ", ") + (compressed && l == 'j' ? "compressed " : "") + extent(l);
    text += "%8:f64" + (type.empty() ? "" : "[" + type + "]") + " \"r\"" + " = compute [" + ranges(out) + "] " +
            monoid + "[" + ranges(reduce) + "] ";
    const std::string rest = pick(2) == 0 ? leaf() : "max(" + leaf() + ", " + leaf() + ")";
    std::string body = guarded ? "add(%3[i, k], mul(%4[k, j], " + rest + "))"
                               : "absent_mul(mutual_mul(%3[i, k], %4[k, j]), " + rest + ")";
    if (!guarded && pick(3) == 0) body = "mutual_mul(" + body + ", %5[i, j])";
    text += "(" + body + ")";
    const std::string mask = pick(2) == 0 ? "ne(%5[i, j], 0.0)" : "lt(i, k)";
    if (guarded)
      text += " where and(and(ne(%3[i, k], 0.0), ne(%4[k, j], 0.0)), " + mask + ")";
    else if (pick(3) == 0)
      text += " where " + mask;
    if (!compressed) return text + "\noutput \"r\" %8\n";
    return text + "\n%9:f64[%0, %2] \"q\" = compute [i in 0..%0, j in 0..%2] (%8[i, j])\noutput \"r\" %9\n";
  }

 private:
  static constexpr std::array<std::pair<const char*, const char*>, 7> kShapes = {
      {{"ij", "k"}, {"ij", "k"}, {"ij", "k"}, {"i", "kj"}, {"k", "ij"}, {"j", "ik"}, {"", "ikj"}}};

  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  static std::string extent(char label) { return label == 'i' ? "%0" : label == 'k' ? "%1" : "%2"; }
  static std::string ranges(const char* labels) {
    std::string text;
    for (const char l : std::string(labels))
      text += fmt::format("{}{} in 0..{}", text.empty() ? "" : ", ", l, extent(l));
    return text;
  }
  std::string leaf() {
    const std::array<std::string, 8> all = {"%3[i, k]", "%4[k, j]", "%5[i, j]", "%6[i]",
                                            "%7[k]",    "f64(j)",   "f64(k)",   "1.5"};
    return all[static_cast<std::size_t>(pick(8))];
  }

  std::mt19937_64 random_;
};

/// Several Computes over A (n x m, compressed): values per element, per row and combined ones, which read each other; B
/// is also compressed.
class StoredNestWriter {
 public:
  explicit StoredNestWriter(std::uint64_t seed) : random_(seed) {}

  std::string program() {
    text_ =
        "program \"p\"\n%0:i64 \"n\" = dimension \"n\"\n%1:i64 \"m\" = dimension \"m\"\n%2:i64 \"d\" = dimension "
        "\"d\"\n"
        "%3:f64[%0, compressed %1] \"A\" = input \"A\"\n%4:f64[%0, compressed %1] \"B\" = input \"B\"\n"
        "%5:f64[%0] \"x\" = input \"x\"\n%6:f64[%1] \"y\" = input \"y\"\n%7:f64[%0, %2] \"U\" = input "
        "\"U\"\n%8:f64[%2, %1] \"V\" = input \"V\"\n";
    const int values = 1 + pick(4);
    for (int k = 0; k < values; ++k) value();
    if (pick(3) == 0) {
      switch (pick(3)) {
        case 0:
          add("[%0, %2]", "[i in 0..%0, f in 0..%2] sum[j in 0..%1]", "absent_mul(" + factor() + ", %8[f, j])");
          break;
        case 1: add("[%0, %1]", "[i in 0..%0, j in 0..%1] sum[k in 0..%1]", square_product()); break;
        default: add("[%0]", "[i in 0..%0] sum[j in 0..%1]", "absent_mul(" + factor() + ", " + leaf() + ")");
      }
      return text_ + fmt::format("output \"r\" %{}\n", next_ - 1);
    }
    std::vector<std::string> totals;
    const int results = 1 + pick(3);
    for (int k = 0; k < results; ++k) totals.push_back(combined());
    std::string sum = totals.front();
    for (std::size_t k = 1; k < totals.size(); ++k) sum = "add(" + sum + ", " + totals[k] + ")";
    add("", "[]", sum);
    return text_ + fmt::format("output \"r\" %{}\n", next_ - 1);
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  int add(const std::string& type, const std::string& labels, const std::string& body, const std::string& guard = "") {
    text_ += fmt::format("%{}:f64{} = compute {} ({}){}\n", next_, type, labels, body, guard);
    return next_++;
  }
  std::string element_of(const std::vector<int>& list, const std::string& subscripts) {
    return fmt::format("%{}[{}]", list[static_cast<std::size_t>(pick(static_cast<int>(list.size())))], subscripts);
  }
  std::string factor() {
    if (!elements_.empty() && pick(2) == 0) return element_of(elements_, "i, j");
    return pick(4) == 0 ? "mutual_mul(%3[i, j], %4[i, j])" : "%3[i, j]";
  }
  std::string leaf() {
    if (!rows_.empty() && pick(2) == 0) return element_of(rows_, "i");
    const std::array<std::string, 4> all = {"%5[i]", "%6[j]", "exp(%4[i, j])", "f64(j)"};
    return all[static_cast<std::size_t>(pick(4))];
  }
  /// An element's product with a matrix of m x m: columns of the result have the range of those that are visited, and
  /// the name that these have in other Computes.
  std::string square_product() {
    std::string visited = factor();
    for (std::size_t at = 0; (at = visited.find("i, j")) != std::string::npos;) visited[at + 3] = 'k';
    return "absent_mul(" + visited + ", sub(%6[k], mul(%6[j], f64(k))))";
  }
  void value() {
    const std::string matrix = "[%0, compressed %1]", over = "[i in 0..%0, j in 0..%1]";
    switch (pick(5)) {
      case 0:
        elements_.push_back(
            add(matrix, over + " sum[f in 0..%2]", "mul(%7[i, f], %8[f, j])", " where ne(%3[i, j], 0.0)"));
        return;
      case 1: elements_.push_back(add(matrix, over, "absent_mul(" + factor() + ", " + leaf() + ")")); return;
      case 2:
        if (rows_.empty()) return value();
        rows_.push_back(add("[%0]", "[i in 0..%0]", "mul(" + element_of(rows_, "i") + ", %5[i])"));
        return;
      default:
        rows_.push_back(add("[%0]", "[i in 0..%0] sum[j in 0..%1]", "absent_mul(" + factor() + ", " + leaf() + ")"));
    }
  }
  /// A combined result, as a scalar.
  std::string combined() {
    const std::string product = "absent_mul(" + factor() + ", " + leaf() + ")";
    switch (pick(5)) {
      case 0: return fmt::format("%{}", add("", "[] sum[i in 0..%0, j in 0..%1]", product));
      case 1: return fmt::format("%{}", add("", "[] max[i in 0..%0, j in 0..%1]", product, " where ne(%3[i, j], 0.0)"));
      case 2: {
        const int y = add("[%1]", "[j in 0..%1] sum[i in 0..%0]", product);
        return fmt::format("%{}", add("", "[] sum[j in 0..%1]", fmt::format("mul(%{}[j], %6[j])", y)));
      }
      case 3: {
        const int z =
            add("[%1, %2]", "[j in 0..%1, f in 0..%2] sum[i in 0..%0]", "absent_mul(" + factor() + ", %7[i, f])");
        return fmt::format("%{}",
                           add("", "[] sum[j in 0..%1, f in 0..%2]", fmt::format("mul(%{}[j, f], %8[f, j])", z)));
      }
      default:
        if (rows_.empty()) return "1.0";
        return fmt::format("%{}", add("", "[] sum[i in 0..%0]",
                                      "mul(" + element_of(rows_, "i") + ", " + element_of(rows_, "i") + ")"));
    }
  }

  std::mt19937_64 random_;
  std::string text_;
  int next_ = 9;
  std::vector<int> elements_, rows_;
};

/// Small random inputs; a fraction of the matrices' elements is 0; dense inputs contain inf and nan.
class StoredInputs {
 public:
  StoredInputs(std::uint64_t seed, double density, bool special, bool products) {
    std::mt19937_64 random(seed);
    std::map<std::string, std::int64_t> size;
    for (const char* name : {"n", "m", "d"})
      size[name] = options_.dimensions[name] = seed == 0 ? 4 : static_cast<std::int64_t>(random() % 6);
    const auto array = [&](const std::vector<std::int64_t>& shape, double share) {
      ir::Array a;
      a.type = ir::Scalar::kF64;
      a.shape = shape;
      for (std::int64_t k = 0; k < a.size(); ++k) {
        const bool zero = std::uniform_real_distribution<double>(0, 1)(random) >= share;
        const double x = std::round(std::uniform_real_distribution<double>(-4, 4)(random) * 8) / 8;
        const bool odd = special && random() % 8 == 0;
        a.floats.push_back(zero ? 0.0 : odd ? (random() % 2 == 0 ? std::nan("") : HUGE_VAL) : x + (x == 0 ? 1 : 0));
      }
      return a;
    };
    arrays_["A"] = array({size["n"], size["m"]}, density);
    arrays_["B"] = array({size["n"], size["m"]}, density);
    arrays_["x"] = array({size["n"]}, 1);
    arrays_["y"] = array({size["m"]}, 1);
    arrays_["U"] = array({size["n"], size["d"]}, products ? density : 1);
    arrays_["V"] = products ? array({size["m"], size["d"]}, density) : array({size["d"], size["m"]}, 1);
    options_.seed = seed;
    options_.input = [this](const std::string& name, ir::Scalar) { return arrays_.at(name); };
    options_.print = [](const std::string&) {};
  }
  StoredInputs(const StoredInputs&) = delete;
  StoredInputs& operator=(const StoredInputs&) = delete;
  [[nodiscard]] const ir::EvalOptions& options() const { return options_; }

 private:
  ir::EvalOptions options_;
  std::map<std::string, ir::Array> arrays_;
};

void check_stored(const std::string& text, const ir::Program& program, std::uint64_t seed, bool products,
                  tests::NestParts& parts) {
  INFO("seed " << seed << "\n" << text);
  tests::check_verified(program);
  const codegen::OperationProgram operations = codegen::lower(program);
  for (int k = 0; k < 4; ++k) {
    const StoredInputs inputs(k == 0 ? 0 : 4 * seed + static_cast<std::uint64_t>(k), k == 3 ? 0.0 : 0.4, k == 2,
                              products);
    const ir::EvalResult expected = ir::evaluate(program, inputs.options());
    REQUIRE_FALSE(expected.error.has_value());
    const std::optional<ir::Array> actual = tests::NestRunner(operations, inputs.options(), parts).run();
    REQUIRE(actual.has_value());
    const ir::Array& r = expected.outputs.at("r");
    CHECK_MESSAGE(tests::nest_agrees(r, *actual),
                  fmt::format("[{}] became [{}]", fmt::join(r.floats, ", "), fmt::join(actual->floats, ", ")));
  }
}

void check_stored_nest(std::uint64_t seed, bool products, tests::NestParts& parts) {
  const std::string text = products ? StoredProductWriter(seed).program() : StoredComputeWriter(seed).program();
  passes::PassContext context;
  check_stored(text, passes::iteration(ir::parse(text), context), seed, products, parts);
}

/// What nests contain, by number of nests.
struct Walks {
  int nests = 0, elements = 0, dense = 0, packed = 0, aligned = 0, passes = 0;

  void count(const ir::Program& program) {
    ir::for_each_node(program.body, [&](const ir::Node& n) {
      const auto* f = std::get_if<ir::Fused>(&n.op);
      if (f == nullptr) return;
      ++nests;
      const auto any = [&](const auto& holds) { return std::ranges::any_of(f->body.nodes, holds) ? 1 : 0; };
      const auto compute = [](const ir::Node& m) -> const ir::Compute& { return std::get<ir::Compute>(m.op); };
      elements += any([&](const ir::Node& m) { return program.type(m.results[0]).is_compressed(); });
      dense += any([&](const ir::Node& m) { return !compute(m).iteration; });
      packed += f->body.yields.size() > 1 ? 1 : 0;
      aligned += f->labels.back().front() < static_cast<int>(compute(f->body.nodes.back()).out.size()) ? 1 : 0;
      passes += f->body.nodes.size() > 2 ? 1 : 0;
    });
  }
};

}  // namespace

TEST_CASE("codegen nest: walks over stored elements compute the values of their members") {
  tests::NestParts parts;
  Walks walks;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const std::string text = StoredNestWriter(seed).program();
    passes::PassContext context;
    const ir::Program program = passes::stored_nests(passes::iteration(ir::parse(text), context), context);
    walks.count(program);
    check_stored(text, program, seed, false, parts);
  }
  CHECK(walks.nests > 200);
  CHECK(walks.elements > 100);
  CHECK(walks.dense > 30);
  CHECK(walks.packed > 50);
  CHECK(walks.aligned > 30);
  CHECK(walks.passes > 100);
  CHECK(parts.row_blocks > 20);
}

TEST_CASE("codegen nest: kernels over stored elements compute the values of the Computes") {
  tests::NestParts parts;
  for (std::uint64_t seed = 0; seed < 400; ++seed) check_stored_nest(seed, false, parts);
  CHECK(parts.stored_rows == parts.nests);
  CHECK(parts.stored_columns == parts.nests);
  CHECK(parts.puts > 50);
  CHECK(parts.ahead > 50);
  CHECK(parts.unions > 30);
  CHECK(parts.intersections > 20);
  CHECK(parts.vectors > 50);
  CHECK(parts.lines > 20);
}

TEST_CASE("codegen nest: products of compressed matrices compute the values of the Computes") {
  tests::NestParts parts;
  for (std::uint64_t seed = 0; seed < 400; ++seed) check_stored_nest(seed, true, parts);
  CHECK(2 * parts.stored_columns > 3 * parts.stored_rows);  // rows of B are searched
  CHECK(parts.sums > 50);
}
