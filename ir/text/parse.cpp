#include "ir/text/node_parser.h"
#include "ir/text/print.h"

namespace tdsl::ir {

namespace {

class ProgramParser : NodeParser {
 public:
  explicit ProgramParser(std::string_view text) : NodeParser(text) {}

  Program run() {
    cursor_.expect("program");
    program_.name = cursor_.string();
    while (cursor_.accept("file")) program_.files.push_back(cursor_.string());
    region_lines(program_.body);
    if (!cursor_.at_end()) cursor_.fail("expected a node");
    return std::move(program_);
  }
};

}  // namespace

Program parse(std::string_view text) { return ProgramParser(text).run(); }

}  // namespace tdsl::ir
