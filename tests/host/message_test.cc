// Messages as lockstep-host reads them, against the JSON library.
#include "verify/host/message.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace lockstep::verify::host {
namespace {

using Json = nlohmann::ordered_json;

// Everything that the library finds is there, and nothing else.
void ExpectSame(const Json& json, const Field& field, const std::string& line) {
  ASSERT_EQ(!json.is_null(), static_cast<bool>(field)) << line;
  if (json.is_string()) {
    EXPECT_EQ(field.Text(), json.get<std::string>()) << line;
  }
  if (json.is_number_integer()) {
    EXPECT_EQ(field.Integer(), json.get<int64_t>()) << line;
  }
  if (json.is_boolean()) {
    EXPECT_EQ(field.Truth(), json.get<bool>()) << line;
  }
  size_t count = 0;
  field.ForEach([&](const Field& element) {
    ASSERT_LT(count, json.size()) << line;
    if (json.is_array() && !json[count].is_null()) {
      ExpectSame(json[count], element, line);
    }
    ++count;
  });
  EXPECT_EQ(count, json.is_structured() ? json.size() : 0u) << line;
  for (const auto& [name, value] : json.items()) {
    if (json.is_object()) ExpectSame(value, field[name], line);
  }
}

TEST(Message, IsReadAsTheLibraryReadsIt) {
  for (
      const char* line :
      {R"({"type":"call","id":7,"list":[1,-2,{"a":[]},{}],"t":true,"f":false})",
       R"( { "a" : null , "b" : [ [ ] , [ "x" , "" ] ] , "c" : "d" } )",
       R"({"text":"a \"quoted\" \\ é 😀\n","na\tme":1,"empty":{}})",
       R"({"end of text":"\\","next":"\\\""})",
       R"({"large":9007199254740993,"least":-9223372036854775808})",
       R"([{"deep":[[[[[[[[1]]]]]]]]}])", "7", R"("text")", "true"}) {
    Message message;
    ASSERT_TRUE(message.Read(line)) << line;
    ExpectSame(Json::parse(line), message.root(), line);
    EXPECT_TRUE(message.status().ok()) << message.status().message();
  }
}

TEST(Message, ThatIsTornIsNotRead) {
  const std::string whole = R"({"a":[1,{"b":"c\"d"},true,null],"e":{"f":-1}})";
  Message message;
  ASSERT_TRUE(message.Read(whole));
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(message.Read(whole.substr(0, length))) << length;
    EXPECT_FALSE(message.root());
  }
  for (const char* line :
       {"{} x", "{}{}", "[1,]", "{,}", R"({"a"})", R"({"a":})", R"({1:2})",
        "[1 2]", "nul", "tru", R"("\q")", "]"}) {
    EXPECT_FALSE(message.Read(line)) << line;
  }
  EXPECT_FALSE(message.Read(std::string(100000, '[')));
}

TEST(Message, FieldsOfAnotherKindAreErrors) {
  const std::string line = R"({"text":"x","number":1,"list":[],"half":1.5})";
  const auto error = [&](const auto& ask) {
    Message message;
    EXPECT_TRUE(message.Read(line));
    ask(message.root());
    return message.status().ok() ? "" : message.status().message();
  };
  const auto integer = [](const char* name) {
    return [=](const Field& root) { EXPECT_EQ(root[name].Integer(), 0); };
  };
  EXPECT_EQ(error(integer("text")), "'text' is not an integer");
  EXPECT_EQ(error(integer("half")), "'half' is not an integer");
  EXPECT_EQ(error(integer("list")), "'list' is not an integer");
  EXPECT_EQ(error(integer("nothing")), "");
  EXPECT_EQ(
      error([](const Field& root) { EXPECT_EQ(root["number"].Text(), ""); }),
      "'number' is not text");
  EXPECT_EQ(
      error([](const Field& root) { EXPECT_FALSE(root["number"].Truth()); }),
      "'number' is not true or false");
}

}  // namespace
}  // namespace lockstep::verify::host
