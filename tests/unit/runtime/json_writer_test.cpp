#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "runtime/base/json_writer.h"
#include "runtime/check.h"
#include "runtime/message_id.h"
#include "runtime/types.h"

using namespace tdsl::rt;

TEST_CASE("objects and arrays nest") {
  JsonWriter json;
  json.begin_object().field("ranks", 4).key("shape").begin_array().value(3).value(5).end_array();
  json.key("empty").begin_object().end_object().field("good", true).key("none").value(nullptr).end_object();
  CHECK(json.text() ==
        "{\n  \"ranks\": 4,\n  \"shape\": [\n    3,\n    5\n  ],\n  \"empty\": {},\n  \"good\": true,\n"
        "  \"none\": null\n}\n");
}

TEST_CASE("strings are escaped") {
  JsonWriter json;
  json.value(std::string("a\"b\\c\nd\te\x01 é"));
  CHECK(json.text() == "\"a\\\"b\\\\c\\nd\\te\\u0001 é\"\n");
}

TEST_CASE("numbers read back, and those JSON lacks become strings") {
  const auto text = [](auto number) {
    JsonWriter json;
    json.value(number);
    const std::string text = json.text();
    return text.substr(0, text.size() - 1);
  };
  CHECK(std::stod(text(0.1)) == 0.1);
  CHECK(text(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(text(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(text(std::numeric_limits<double>::infinity()) == "\"inf\"");
  CHECK(text(-std::numeric_limits<float>::infinity()) == "\"-inf\"");
  CHECK(text(std::numeric_limits<double>::quiet_NaN()) == "\"nan\"");
}

TEST_CASE("misuse is an internal error") {
  JsonWriter json;
  json.begin_object();
  CHECK_THROWS_AS(json.value(3), InternalError);
  CHECK_THROWS_AS(json.end_array(), InternalError);
  CHECK_THROWS_AS((void)json.text(), InternalError);
}

TEST_CASE("element types") {
  CHECK(element_type_of<bool> == ElementType::kBool);
  CHECK(element_type_of<std::int64_t> == ElementType::kI64);
  CHECK(element_type_named("f32") == ElementType::kF32);
  CHECK_FALSE(element_type_named("c65").has_value());
  for (const ElementType type :
       {ElementType::kBool, ElementType::kI32, ElementType::kI64, ElementType::kF32, ElementType::kF64}) {
    CHECK(visit_element_type(type, [](auto tag) { return sizeof(typename decltype(tag)::type); }) ==
          element_size(type));
    CHECK(element_type_named(element_name(type)) == type);
  }
}

TEST_CASE("run errors name the line when it is known") {
  CHECK(std::string(RunError(SourceLine{"a.tdsl", 12}, "bad").what()) == "a.tdsl:12: bad");
  CHECK(std::string(RunError(SourceLine{}, "bad").what()) == "bad");
  CHECK(with_id("bad", "bad-file") == "bad [bad-file]");
  CHECK(with_id("bad\nmore [plan]", "bad-file") == "bad [bad-file]\nmore [plan]");
  CHECK(with_id("bad [plan]\nmore", "bad-file") == "bad [plan]\nmore");
  CHECK(id_in("`x` at [17]").empty());
  CHECK(id_in("bad [bad-file]\nmore") == "bad-file");
  CHECK(without_id("bad [bad-file]\nmore") == "bad\nmore");
  CHECK(without_id("`x` at [17]") == "`x` at [17]");
  CHECK(RunError("bad").exit_code() == 1);
  CHECK(RunError("bad", ExitCode::kUsage).exit_code() == 2);
}
