#include "runtime/record/sum_of_products.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/plan/region/region.h"
#include "runtime/record/survey.h"

using namespace tdsl;
using namespace tdsl::record;

namespace {

/// Recording of `ijk,jr,kr->ir` with a size per letter, in one variant.
struct SumRecorded {
  plan::Region region;
  std::vector<std::string> notes;
  std::vector<std::string> names;
  std::map<int, std::string> shapes;  ///< by site: class and labels of result, operands
};

std::string letters_of(const plan::Op& op) {
  std::string text = std::string(plan::name_of(op.op_class)) + " ";
  for (const plan::OutSubscript& s : op.out) text += op.labels[static_cast<std::size_t>(s.label)].name;
  for (const plan::Access& access : op.reads) {
    text += ",";
    for (const plan::DimAccess& dim : access.dims)
      text += op.labels[static_cast<std::size_t>(dim.terms.front().label)].name;
  }
  return text;
}

SumRecorded recorded_sum(const std::string& text, const std::map<char, Index>& sizes, int form) {
  SumRecorded result;
  const Recording program = [&](Recorder& recorder, Control& control) {
    const std::size_t arrow = text.find("->");
    std::string letters = text.substr(arrow + 2);
    const std::size_t outs = letters.size();
    std::vector<std::string> factors{""};
    for (const char c : text.substr(0, arrow)) {
      if (c == ',') {
        factors.emplace_back();
        continue;
      }
      factors.back() += c;
      if (letters.find(c) == std::string::npos) letters += c;
    }
    plan::OpBuilder op(plan::OpClass::kReduce, "S", 100, 2);
    for (std::size_t l = 0; l < letters.size(); ++l) {
      l < outs ? op.out(letters.substr(l, 1), sizes.at(letters[l]))
               : op.reduce(letters.substr(l, 1), sizes.at(letters[l]));
    }
    std::vector<TensorHandle> tensors;
    SumOfProducts sum{{}, {}};
    for (std::size_t k = 0; k < factors.size(); ++k) {
      std::vector<Index> shape;
      std::vector<plan::DimAccess> dims;
      for (const char c : factors[k]) {
        shape.push_back(sizes.at(c));
        dims.push_back(plan::at(static_cast<int>(letters.find(c))));
      }
      sum.names.emplace_back(1, static_cast<char>('A' + k));
      tensors.push_back(recorder.load(sum.names.back(), ElementType::kF64, shape, {}, {static_cast<int>(k) + 1, 1}));
      op.read(tensors.back().id(), std::move(dims));
    }
    op.combine(plan::Combine::kSum).flops(static_cast<double>(factors.size()));
    sum.whole = op.op();
    const auto one = [&](plan::OpBuilder& part) {
      result.names.push_back(part.op().name);
      result.shapes.emplace(part.op().site, letters_of(part.op()));
      return recorder.record(std::move(part.op()), ElementType::kF64);
    };
    static_cast<void>(record_sum(sum, {control, one, [&](const std::string& note) { result.notes.push_back(note); }}));
  };
  result.region = survey(program, Forms{{}, form});
  return result;
}

double flops_of_all(const plan::Region& region) {
  double flops = 0;
  for (const plan::RegionOp& op : region.ops) flops += plan::flops_of(op.op);
  return flops;
}

}  // namespace

TEST_CASE(
    "sums of products: the first form has the fewest operations, whatever the sizes; the last one is all at once") {
  std::mt19937_64 random(9);
  for (const char* text : {"ijk,jr,kr->ir", "ki,k,kj->ij", "ijx,jl,kl->i", "abcd,bi,ci,di->ai", "ab,bc,cd,da->"}) {
    std::map<int, std::string> shapes;
    for (int round = 0; round < 10; ++round) {
      std::map<char, Index> sizes;
      for (char c = 'a'; c <= 'z'; ++c) sizes[c] = Index{1} << random() % 8;
      double least = 1e300;
      const SumRecorded first = recorded_sum(text, sizes, 0);
      const int forms = first.region.choices.front().forms;
      CHECK(first.region.choices.front().site == 100);
      CHECK(forms == (std::string(text).find(',', std::string(text).find(',', std::string(text).find(',') + 1) + 1) ==
                              std::string::npos
                          ? 4
                          : 3));
      for (int form = 0; form < forms; ++form) {
        const SumRecorded here = recorded_sum(text, sizes, form);
        if (form + 1 < forms) least = std::min(least, flops_of_all(here.region));
        CHECK(here.names.back() == "S");
        CHECK((here.names.size() == 1) == (form + 1 == forms));
        // Recordings of a site differ in extents only.
        for (const auto& [site, shape] : here.shapes)
          CHECK_MESSAGE(shapes.emplace(site, shape).first->second == shape, text);
      }
      CHECK(flops_of_all(first.region) == least);
    }
    CHECK(shapes.begin()->first > 100);
    CHECK(shapes.rbegin()->first == 100 + SumOfProducts::places(std::string(text).find("ab") == 0 ? 4 : 3) - 1);
  }
}

TEST_CASE("sums of products: operations name their contracted operands, and a note gives the orders") {
  const SumRecorded sum = recorded_sum("ijk,jr,kr->ir", {{'i', 20}, {'j', 10}, {'k', 10}, {'r', 4}}, 0);
  CHECK(sum.names == std::vector<std::string>{"B C", "S"});
  REQUIRE(sum.notes.size() == 1);
  CHECK(sum.notes[0] ==
        "A (B C): 1.64e+04 operations; (A B) C: 1.76e+04 operations; (A C) B: 1.76e+04 operations; all at once: "
        "2.4e+04 operations");
  // The matrix product's labels are merged: j and k are one.
  const plan::Op& product = sum.region.ops[3].op;
  CHECK(product.name == "B C");
  CHECK(letters_of(product) == "map jkr,jr,kr");
  CHECK(letters_of(sum.region.ops.back().op) == "contraction ir,ijk,jkr");
}
