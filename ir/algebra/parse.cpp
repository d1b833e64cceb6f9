#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "ir/algebra/text.h"
#include "ir/text_cursor.h"

namespace tdsl::ir::algebra {

namespace {

/// Comments as blanks, so that places stay.
std::string without_comments(std::string_view text) {
  std::string result(text);
  bool quoted = false;
  bool comment = false;
  for (std::size_t k = 0; k < result.size(); ++k) {
    char& c = result[k];
    if (c == '\n') {
      quoted = comment = false;
    } else if (comment) {
      c = ' ';
    } else if (quoted && c == '\\') {
      ++k;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ';' && !quoted) {
      comment = true;
      c = ' ';
    }
  }
  return result;
}

/// Integers over key values; `t` is value number `arity`.
class KeyParser {
 public:
  KeyParser(TextCursor& cursor, std::optional<std::size_t> arity) : cursor_(cursor), arity_(arity) {}

  Extent sum() {
    Extent e = cursor_.accept("-") ? Extent() - product() : product();
    for (;;) {
      if (cursor_.accept("+")) {
        e = e + product();
      } else if (cursor_.accept("-")) {
        e = e - product();
      } else {
        return e;
      }
    }
  }

  KeyFunction function() {
    KeyFunction f;
    cursor_.expect("[");
    if (cursor_.accept("]"))
      return f;
    do {
      f.values.push_back(sum());
    } while (cursor_.accept(","));
    cursor_.expect("]");
    return f;
  }

  Predicate predicate() {
    std::vector<Comparison> all;
    if (cursor_.accept("true"))
      return Predicate();
    do {
      all.push_back(comparison());
    } while (cursor_.accept("and"));
    return Predicate(std::move(all));
  }

 private:
  Extent product() {
    Extent e = factor();
    for (;;) {
      if (cursor_.accept("*")) {
        e = e * factor();
      } else if (cursor_.accept("/")) {
        e = Extent::quotient(e, factor());
      } else if (cursor_.accept("mod")) {
        e = Extent::remainder(e, factor());
      } else {
        return e;
      }
    }
  }

  Extent factor() {
    if (cursor_.accept("(")) {
      Extent e = sum();
      cursor_.expect(")");
      return e;
    }
    if (!cursor_.at_word())
      return static_cast<Index>(cursor_.natural());
    const std::string word = cursor_.word();
    if (word == "t" && arity_)
      return key_value(static_cast<int>(*arity_));
    int dim = -1;
    const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), dim);
    if (word[0] != 'k' || error != std::errc() || end != word.data() + word.size() || dim < 0)
      cursor_.fail(fmt::format("expected a key value k0, k1, .., not '{}'", word));
    return key_value(dim);
  }

  Comparison comparison() {
    using Relation = Comparison::Relation;
    Extent left = sum();
    const auto with = [&](Relation relation) { return Comparison{relation, left, sum()}; };
    const auto swapped = [&](Relation relation) { return Comparison{relation, sum(), left}; };
    if (cursor_.accept("=="))
      return with(Relation::kEqual);
    if (cursor_.accept("!="))
      return with(Relation::kNotEqual);
    if (cursor_.accept("<="))
      return with(Relation::kAtMost);
    if (cursor_.accept(">="))
      return swapped(Relation::kAtMost);
    if (cursor_.accept("<"))
      return with(Relation::kLess);
    if (cursor_.accept(">"))
      return swapped(Relation::kLess);
    cursor_.fail("expected a comparison");
  }

  TextCursor& cursor_;
  std::optional<std::size_t> arity_;
};

class Parser {
 public:
  Parser(Pool& pool, std::string_view text) : pool_(pool), text_(without_comments(text)), cursor_(text_) {}

  Program run() {
    Program program;
    while (!cursor_.at_end()) {
      if (cursor_.accept("result")) {
        std::string name = cursor_.string();
        program.results.push_back({std::move(name), operand()});
        continue;
      }
      cursor_.expect("%");
      const Index number = cursor_.integer();
      cursor_.expect("=");
      if (!values_.emplace(number, line()).second)
        cursor_.fail(fmt::format("%{} is defined twice", number));
    }
    return program;
  }

 private:
  Expr operand() {
    cursor_.expect("%");
    const Index number = cursor_.integer();
    const auto found = values_.find(number);
    if (found == values_.end())
      cursor_.fail(fmt::format("%{} is not defined", number));
    return found->second;
  }

  Index integer() { return cursor_.integer(); }
  int small() {
    const Index value = cursor_.integer();
    if (value < 0 || value > std::numeric_limits<int>::max())
      cursor_.fail("expected a position");
    return static_cast<int>(value);
  }

  std::vector<Index> list() {
    std::vector<Index> values;
    cursor_.expect("[");
    if (cursor_.accept("]"))
      return values;
    do {
      values.push_back(integer());
    } while (cursor_.accept(","));
    cursor_.expect("]");
    return values;
  }
  std::vector<Index> extents() {
    std::vector<Index> values = list();
    for (const Index value : values) {
      if (value < 0)
        cursor_.fail("extents are not negative");
    }
    return values;
  }
  Dims dims() {
    const std::vector<Index> values = list();
    return {values.begin(), values.end()};
  }

  Kernel kernel() {
    Kernel k;
    k.kind = named_kind(cursor_, Kernel::Kind::kCall, "kernel");
    using Kind = Kernel::Kind;
    if (k.kind == Kind::kScale || k.kind == Kind::kShift) {
      cursor_.expect("(");
      const Literal number = cursor_.literal();
      k.number = std::holds_alternative<double>(number) ? std::get<double>(number)
                                                        : static_cast<double>(std::get<std::int64_t>(number));
      cursor_.expect(")");
    } else if (k.kind == Kind::kSum || k.kind == Kind::kItem) {
      cursor_.expect("(");
      k.position = small();
      cursor_.expect(")");
    } else if (k.kind == Kind::kEinsum || k.kind == Kind::kCall) {
      cursor_.expect("(");
      k.text = cursor_.string();
      while (cursor_.accept(","))
        k.result.push_back(extents());
      cursor_.expect(")");
    }
    return k;
  }
  /// `relu then scale(2)` behind `word`, or nothing.
  Kernels kernels(std::string_view word) {
    Kernels all;
    while (cursor_.accept(all.empty() ? word : "then"))
      all.push_back(kernel());
    return all;
  }

  std::vector<int> axes(int count) {
    std::vector<int> axes;
    for (const char c : cursor_.word()) {
      if (c < 'a' || c >= 'a' + count)
        cursor_.fail(fmt::format("the mesh has no axis {}", c));
      axes.push_back(c - 'a');
    }
    return axes;
  }

  std::optional<Layout> layout() {
    if (cursor_.accept("all"))
      return Layout::all();
    if (cursor_.accept("part"))
      return Layout::part(dims());
    if (cursor_.accept("loose"))
      return Layout::loose();
    if (!cursor_.accept("mesh"))
      return std::nullopt;
    const int count = static_cast<int>(cursor_.word().size());
    std::vector<Cut> cuts;
    while (cursor_.accept("part")) {
      Cut cut;
      cursor_.expect("[");
      while (!cursor_.accept(":")) {
        cut.dims.push_back(small());
        cursor_.accept(",");
      }
      cut.axes = axes(count);
      cursor_.expect("]");
      cuts.push_back(std::move(cut));
    }
    return Layout(count, std::move(cuts), cursor_.accept("loose") ? axes(count) : std::vector<int>{});
  }

  Predicate where(std::optional<std::size_t> arity = {}) {
    return cursor_.accept("where") ? KeyParser(cursor_, arity).predicate() : Predicate();
  }

  Expr input() {
    Input input;
    input.name = cursor_.string();
    cursor_.expect("keys");
    input.frontier = extents();
    input.where = where();
    cursor_.expect("block");
    while (cursor_.peek() == '[')
      input.block.push_back(extents());
    input.layout = layout();
    return pool_.input(std::move(input));
  }

  Expr join() {
    const Expr left = operand();
    cursor_.expect(",");
    const Expr right = operand();
    cursor_.expect("on");
    Join join;
    join.left = dims();
    cursor_.expect(",");
    join.right = dims();
    cursor_.expect("by");
    join.by = kernel();
    join.then = kernels("then");
    const std::size_t arity = left->type.keys.arity() + right->type.keys.arity();
    join.keys = cursor_.accept("rekey") ? KeyParser(cursor_, {}).function()
                                        : KeyFunction::identity(arity - std::min(arity, join.left.size()));
    return pool_.make(std::move(join), {left, right});
  }

  Expr flat_map() {
    const Expr e = operand();
    const std::size_t arity = e->type.keys.arity();
    FlatMap f;
    cursor_.expect("count");
    f.count = integer();
    f.where = where(arity);
    cursor_.expect("keys");
    f.keys = KeyParser(cursor_, arity).function();
    if (cursor_.accept("slice")) {
      f.slice = FlatMap::Slice{small(), 1};
      cursor_.expect("size");
      f.slice->size = integer();
    }
    f.by = kernels("by");
    return pool_.make(std::move(f), {e});
  }

  Expr aggregate() {
    const Expr e = operand();
    cursor_.expect("keep");
    Dims keep = dims();
    cursor_.expect("by");
    Kernel by = kernel();
    return pool_.aggregate(e, std::move(keep), std::move(by), kernels("then"));
  }

  Expr map() {
    const Expr e = operand();
    KeyFunction keys = cursor_.accept("rekey") ? KeyParser(cursor_, {}).function()
                                               : KeyFunction::identity(e->type.keys.arity());
    return pool_.make(Map{std::move(keys), kernels("by")}, {e});
  }

  Expr rekey() {
    const Expr e = operand();
    return pool_.rekey(e, KeyParser(cursor_, {}).function());
  }

  Expr filter() {
    const Expr e = operand();
    cursor_.expect("where");
    return pool_.filter(e, KeyParser(cursor_, {}).predicate());
  }

  Expr tile() {
    const Expr e = operand();
    cursor_.expect("dim");
    const int dim = small();
    cursor_.expect("size");
    return pool_.make(Tile{dim, integer()}, {e});
  }

  Expr concat() {
    const Expr e = operand();
    cursor_.expect("key");
    const int key = small();
    cursor_.expect("dim");
    return pool_.make(Concat{key, small()}, {e});
  }

  Expr shuf() {
    const Expr e = operand();
    const auto to = layout();
    if (!to)
      cursor_.fail("expected the layout to shuffle to");
    return pool_.redistribute(e, *to);
  }

  Expr operator_line(const std::string& word) {
    if (word == "input")
      return input();
    if (word == "join")
      return join();
    if (word == "aggregate")
      return aggregate();
    if (word == "map")
      return map();
    if (word == "rekey")
      return rekey();
    if (word == "filter")
      return filter();
    if (word == "tile")
      return tile();
    if (word == "concat")
      return concat();
    if (word == "flatmap")
      return flat_map();
    if (word == "bcast")
      return pool_.bcast(operand());
    if (word == "shuf")
      return shuf();
    cursor_.fail(fmt::format("no operator is called '{}'", word));
  }

  Expr line() {
    const bool local = cursor_.accept("local");
    const std::string word = cursor_.word();
    try {
      const Expr e = operator_line(word);
      if (local && !e->type.layout)
        cursor_.fail(fmt::format("this {} is not local: its operands are on no sites", word));
      return e;
    } catch (const AlgebraError& error) {
      cursor_.fail(error.what());
    }
  }

  Pool& pool_;
  std::string text_;
  TextCursor cursor_;
  std::map<Index, Expr> values_;
};

}  // namespace

Program parse(Pool& pool, std::string_view text) {
  return Parser(pool, text).run();
}

Expr parse_one(Pool& pool, std::string_view text) {
  const Program program = parse(pool, text);
  if (program.results.size() != 1)
    throw AlgebraError(fmt::format("one result is needed, the text has {}", program.results.size()));
  return program.results[0].value;
}

}  // namespace tdsl::ir::algebra
