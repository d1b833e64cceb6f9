#include <doctest/doctest.h>

#include <string>

#include "runtime/base/base64.h"
#include "tools/report/columns.h"
#include "tools/report/page.h"
#include "tools/report/trace_reader.h"

namespace tdsl::tests {

namespace {

const std::string kHead =
    R"({"displayTimeUnit": "ms", "otherData": {"program": "p", "kept_milliseconds": 2, "sites": [{"site": 4, )"
    R"("name": "}"}]},)";
const std::string kTrace = kHead + R"~("traceEvents": [
{"ph":"M","name":"process_name","pid":0,"args":{"name":"rank 0"}},
{"ph":"X","pid":1,"tid":0,"ts":6.5,"dur":2,"cat":"task","name":"C (line )~"
                                   R"~(12)","args":{"site":4,"op":3,"panel":1,"request":9,"bytes":32}},
{"ph":"X","pid":0,"tid":10000,"ts":4,"dur":0.25,"cat":"receive","name":"C","args":{"site":4,"peer":1,"op":3,)~"
                                   R"~("panel":0,"request":8,"bytes":70000}},
{"ph":"X","pid":0,"tid":10000,"ts":1,"dur":1,"cat":"receive","name":"C","args":{"peer":1,"op":2,"panel":0,)~"
                                   R"~("request":9,"bytes":64}},
{"ph":"s","bp":"e","cat":"message","name":"message","id":9,"pid":0,"tid":10000,"ts":1},
{"ph":"C","pid":0,"tid":0,"ts":7,"cat":"memory","name":"block bytes","args":{"bytes":96}}
]})~";

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(report::read_trace(text));
    return "";
  } catch (const report::TraceError& error) { return error.what(); }
}

}  // namespace

TEST_CASE("report: a trace is read by lanes and times") {
  const report::ReadTrace trace = report::read_trace(kTrace);
  CHECK(trace.description["kept_milliseconds"] == 2);
  REQUIRE(trace.events.size() == 4);
  CHECK(trace.events[0].kind == 7);
  CHECK(trace.events[0].bytes == 96);
  CHECK(trace.events[1].request == 9);
  CHECK(trace.events[2].request == 8);
  CHECK(trace.events[2].start == 4);
  CHECK(trace.events[1].site == report::ReadEvent::kNone);
  CHECK(trace.events[3].rank == 1);
  CHECK(trace.events[3].operation == 3);
}

TEST_CASE("report: files other than traces are refused") {
  CHECK(error_of("") == "this is not what --trace writes");
  CHECK(error_of("{\"traceEvents\": []}") == "this is not what --trace writes");
  CHECK(error_of(kHead + "\"traceEvents\": [").starts_with("this is no JSON (byte "));
  CHECK(error_of(kTrace) == "");
}

TEST_CASE("report: columns of events") {
  CHECK(rt::base64("") == "");
  CHECK(rt::base64("a") == "YQ==");
  CHECK(rt::base64("ab") == "YWI=");
  CHECK(rt::base64("abc\xff") == "YWJj/w==");
  const report::Columns columns = report::columns_of(report::read_trace(kTrace));
  CHECK(columns.form["count"] == 4);
  CHECK(columns.form["lanes"].dump() == "[[0,0,1],[0,10000,2],[1,0,1]]");
  CHECK(columns.form["columns"][0].dump() == R"(["start",4,true])");
  CHECK(columns.form["unit_seconds"].get<double>() == doctest::Approx(1e-9));
  // zlib header: the page inflates it.
  CHECK(columns.text.starts_with("eJ"));
}

TEST_CASE("report: no text of the user's ends the page's scripts") {
  const report::ReadTrace trace = report::read_trace(kTrace);
  report::Contents contents;
  contents.statistics = {{"program", "</script><b>@EVENTS@"}, {"statements", {{{"name", "<!--<script>"}}}}};
  contents.trace = &trace;
  contents.source = {"// </script> \xff @SCRIPT@"};
  const std::string page = report::page_of(contents);
  CHECK(page.find("<b>") == std::string::npos);
  CHECK(page.find("<!--<script") == std::string::npos);
  CHECK(page.find("<title>&lt;/script&gt;&lt;b&gt;@EVENTS@</title>") != std::string::npos);
  std::size_t ends = 0;
  for (std::size_t at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1)) ++ends;
  CHECK(ends == 3);
  CHECK(page.find("http:") == std::string::npos);
  CHECK(page.find("https:") == std::string::npos);
  CHECK(page.find("src=") == std::string::npos);
  CHECK(page.find("<link") == std::string::npos);
}

}  // namespace tdsl::tests
