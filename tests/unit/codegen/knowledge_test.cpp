#include "codegen/walk/knowledge.h"
#include "codegen/lower/program.h"

#include <doctest/doctest.h>

#include "codegen/print/emit.h"
#include "frontend/frontend.h"
#include "passes/pipeline.h"

using namespace tdsl;
using namespace tdsl::codegen;

namespace {

/// The operations of a program's text; loops remain statements.
OperationProgram operations_of(const std::string& text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  const auto program = frontend::compile(sources, sources.add("p.tdsl", text), sink, {});
  REQUIRE(program.has_value());
  passes::PassContext context;
  passes::PipelineOptions options;
  options.disabled.insert("serial_loops");
  return lower(passes::run_pipeline(*program, options, context));
}

/// The emitted calls for loops, branches and fences, with their marks. Branches without a mark are no calls.
std::string marks(const std::string& program) {
  const std::string text = emit(operations_of(program), {});
  std::string found;
  for (std::size_t at = text.find("session."); at != std::string::npos; at = text.find("session.", at + 1)) {
    const std::size_t open = text.find('(', at);
    const std::string call = text.substr(at + 8, open - at - 8);
    if (call != "for_loop" && call != "while_loop" && call != "if_else" && call != "fence") continue;
    found += (found.empty() ? "" : " ") + call;
    const std::string argument = text.substr(text.find_first_not_of(" \n{", open + 1), 15);
    if (argument.starts_with("Known::k") && !argument.starts_with("Known::kStart"))
      found += ":" + argument.substr(8, argument.find(',') - 8);
    if (argument.starts_with("kScalars,")) found += ":scalars";
  }
  return found;
}

const std::string kInput = "param k: i64 = 3;\ninput x: f64[n];\nvar y = x;\n";

}  // namespace

TEST_CASE("knowledge: control that follows from params and extents carries no mark") {
  CHECK(marks(kInput + "for t in 0..k { y = y * 2.0 + y @ y; }\nif n > k { y = y + 1.0; }\noutput y;\n") == "for_loop");
}

TEST_CASE("knowledge: ranges and conditions that change in a loop") {
  CHECK(marks(kInput + "for t in 0..k { for s in t..k { y = y * 2.0 + y @ y; } }\noutput y;\n") ==
        "for_loop for_loop:Loop");
  CHECK(marks(kInput + "for t in 0..k { if t % 2 == 0 { y = y * (y @ y); } else { y = y + (y @ y); } }\noutput y;\n") ==
        "for_loop if_else:Loop");
}

TEST_CASE("knowledge: control that comes from data") {
  CHECK(marks(kInput + "while y @ y < 10.0 { y = y * 2.0; }\nif y @ y > 5.0 { y = y + 1.0; }\noutput y;\n") ==
        "while_loop:Data if_else:Data");
  // The loop's trip count decides the branch.
  CHECK(marks(kInput + "var steps = 0;\nwhile y @ y < 10.0 { y = y * 2.0; steps += 1; }\nif steps > 5 { y = y * (y @ "
                       "y); }\noutput y;\n") == "while_loop:Data if_else:Data");
  // A value assigned in either branch is known as late as the condition.
  CHECK(marks(kInput + "var c = 1;\nif y @ y > 5.0 { c = 2; }\nif c > 1 { y = y * (y @ y); }\noutput y;\n") ==
        "if_else:Data if_else:Data");
}

TEST_CASE("knowledge: loops that compute scalars only, and their results") {
  const std::string power = "var p = 1;\nwhile p < n { p = p * 2; }\n";
  CHECK(marks(kInput + power + "if p > 64 { y = y * (y @ y); }\noutput y;\n") == "while_loop:scalars");
  CHECK(marks(kInput + power + "let z = zeros(p);\noutput z;\noutput y;\n") == "while_loop:scalars");
  // The survey truncates loops that record, so their final values are unknown.
  const std::string recorded = "var p = 1;\nfor t in 0..k { p = p * 2; y = y * (y @ y); }\n";
  CHECK(marks(kInput + recorded + "if p > 4 { y = y + 1.0; }\noutput y;\n") == "for_loop if_else:Loop");
  CHECK(marks(kInput + recorded + "let z = zeros(p);\noutput z;\noutput y;\n") == "for_loop fence");
}

TEST_CASE("knowledge: a fence stands before the first step whose extents come from data") {
  CHECK(marks(kInput +
              "let m = i64(sum(y));\nlet z = zeros(m);\nlet w = zeros(m + 1);\noutput z;\noutput w;\noutput y;\n") ==
        "fence");
  // One in each branch is executed on every path; a loop may have no iterations.
  CHECK(marks(kInput + "let m = i64(sum(y));\nvar s = 0.0;\nif n > 4 { s = sum[i in 0..m](f64(i)); }\nlet z = "
                       "zeros(m);\noutput s;\noutput z;\noutput y;\n") == "fence fence");
  // An extent found by data.
  CHECK(marks(kInput + "let z = filter(y, y > 0.5);\noutput z;\noutput y;\n") == "fence");
  // A data-dependent subscript changes no extent.
  CHECK(marks(kInput + "let m = i64(sum(y));\noutput s = y[m] * 2.0;\noutput y;\n").empty());
}
