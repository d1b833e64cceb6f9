#include "ir/algebra/text/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/algebra/text/parse_parts.h"
#include "ir/algebra/text/text.h"

namespace tdsl::ir::algebra {

namespace {

/// Replaces comments by blanks, so that positions are unchanged.
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

class Parser : private PartParser {
 public:
  /// `text` without comments; it must outlive the parser.
  Parser(Pool& pool, std::string_view text) : PartParser(text), pool_(pool) {}

  ProgramText run() {
    ProgramText read;
    while (!cursor_.at_end()) {
      if (cursor_.accept("result")) {
        std::string name = cursor_.string();
        read.program.results.push_back({std::move(name), operand()});
        continue;
      }
      const std::size_t line_number = cursor_.line();
      cursor_.expect("%");
      const Index number = cursor_.integer();
      cursor_.expect("=");
      const Expr value = line();
      if (!values_.emplace(number, value).second) cursor_.fail(fmt::format("%{} is defined twice", number));
      read.lines.emplace(value->id, line_number);
    }
    return read;
  }

 private:
  Expr operand() {
    cursor_.expect("%");
    const Index number = cursor_.integer();
    const auto found = values_.find(number);
    if (found == values_.end()) cursor_.fail(fmt::format("%{} is not defined", number));
    return found->second;
  }

  Expr input() {
    Input input;
    input.name = cursor_.string();
    cursor_.expect("keys");
    input.frontier = extents();
    input.where = where();
    input.block = block();
    input.layout = layout();
    return pool_.input(std::move(input));
  }

  Expr opaque() {
    std::vector<Expr> operands;
    while (cursor_.peek() == '%') {
      operands.push_back(operand());
      cursor_.accept(",");
    }
    Opaque opaque;
    opaque.name = cursor_.string();
    cursor_.expect("keys");
    opaque.frontier = extents();
    opaque.block = block();
    opaque.layout = layout();
    return pool_.make(std::move(opaque), std::move(operands));
  }

  BlockType block() {
    cursor_.expect("block");
    BlockType block;
    while (cursor_.peek() == '[') block.push_back(extents());
    return block;
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
    join.keys =
        cursor_.accept("rekey") ? key_function() : KeyFunction::identity(arity - std::min(arity, join.left.size()));
    return pool_.make(std::move(join), {left, right});
  }

  Expr flat_map() {
    const Expr e = operand();
    const std::size_t arity = e->type.keys.arity();
    FlatMap f;
    cursor_.expect("count");
    f.count = cursor_.integer();
    f.where = where(arity);
    cursor_.expect("keys");
    f.keys = key_function(arity);
    if (cursor_.accept("slice")) {
      f.slice = FlatMap::Slice{small(), 1};
      cursor_.expect("size");
      f.slice->size = cursor_.integer();
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
    KeyFunction keys = cursor_.accept("rekey") ? key_function() : KeyFunction::identity(e->type.keys.arity());
    return pool_.make(Map{std::move(keys), kernels("by")}, {e});
  }

  Expr rekey() {
    const Expr e = operand();
    return pool_.rekey(e, key_function());
  }

  Expr filter() {
    const Expr e = operand();
    cursor_.expect("where");
    return pool_.filter(e, predicate());
  }

  Expr tile() {
    const Expr e = operand();
    cursor_.expect("dim");
    const int dim = small();
    cursor_.expect("size");
    return pool_.make(Tile{dim, cursor_.integer()}, {e});
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
    if (!to) cursor_.fail("expected the layout to shuffle to");
    return pool_.redistribute(e, *to);
  }

  Expr operator_line(const std::string& word) {
    if (word == "input") return input();
    if (word == "join") return join();
    if (word == "aggregate") return aggregate();
    if (word == "map") return map();
    if (word == "rekey") return rekey();
    if (word == "filter") return filter();
    if (word == "tile") return tile();
    if (word == "concat") return concat();
    if (word == "flatmap") return flat_map();
    if (word == "bcast") return pool_.bcast(operand());
    if (word == "shuf") return shuf();
    if (word == "opaque") return opaque();
    cursor_.fail(fmt::format("no operator is called `{}`", word));
  }

  Expr line() {
    const bool local = cursor_.accept("local");
    const std::string word = cursor_.word();
    try {
      const Expr e = operator_line(word);
      if (local && !e->type.layout)
        cursor_.fail(fmt::format("this {} is not local: its operands are on no sites", word));
      return e;
    } catch (const AlgebraError& error) { cursor_.fail(error.what()); }
  }

  Pool& pool_;
  std::map<Index, Expr> values_;
};

}  // namespace

ProgramText parse_with_lines(Pool& pool, std::string_view text) {
  const std::string plain = without_comments(text);
  return Parser(pool, plain).run();
}

Program parse(Pool& pool, std::string_view text) { return parse_with_lines(pool, text).program; }

Expr parse_one(Pool& pool, std::string_view text) {
  const Program program = parse(pool, text);
  if (program.results.size() != 1)
    throw AlgebraError(fmt::format("one result is needed, the text has {}", program.results.size()));
  return program.results[0].value;
}

}  // namespace tdsl::ir::algebra
