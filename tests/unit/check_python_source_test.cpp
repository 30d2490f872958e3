// Tokens and statements of Python. python_statements.py compares them with Python's own on real files.
#include <gtest/gtest.h>

#include "analyzer/check/python_source.h"

namespace tapelens::check {
namespace {

TEST(PythonSource, AStatementGoesOnInBracketsAndAfterABackslash) {
  const auto source =
      PythonSource::parse("x = f(1,\n      2)\ny = x + \\\n    1  # ;\nif y: z = '''\n'''\na = 1; b = 2\n");
  ASSERT_TRUE(source);
  const auto& all = source->statements();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0].last, 1U);
  EXPECT_EQ(all[1].first, 2U);
  EXPECT_EQ(all[1].last, 3U);
  EXPECT_EQ(source->at(3), 1U);
  EXPECT_TRUE(all[1].is_alone);
  EXPECT_FALSE(all[2].is_alone) << "behind a colon";
  EXPECT_FALSE(all[3].is_alone) << "before a semicolon";
  EXPECT_FALSE(all[4].is_alone);
  EXPECT_TRUE(source->has_long_string(4, 5));
  EXPECT_FALSE(source->has_long_string(0, 3));
}

TEST(PythonSource, BlocksAreToldByIndentation) {
  const auto source =
      PythonSource::parse("def f(x):\n    for i in x:\n        g(i)\n\n        h(i)\n    return 1\nk()\n");
  ASSERT_TRUE(source);
  EXPECT_EQ(source->block_end(0), 5U);
  EXPECT_EQ(source->block_end(1), 4U);
  EXPECT_EQ(source->header_of(3), 1U);
  EXPECT_EQ(source->header_of(1), 0U);
  EXPECT_EQ(source->header_of(5), source->statements().size());
  EXPECT_TRUE(source->is_header(0));
  EXPECT_FALSE(source->is_header(2));
}

TEST(PythonSource, WhatDoesNotMatchIsRefused) {
  for (const char* text : {"x = (1]\n", "x = (\n", "x = 'a\n", "x = '''a\n", "x = 1 \\ 2\n"}) {
    EXPECT_FALSE(PythonSource::parse(text)) << text;
  }
  EXPECT_TRUE(PythonSource::parse(""));
  EXPECT_TRUE(PythonSource::parse("x = f'{a[\"b\"]}' # it's\n"));
  for (const char* text :
       {"x = f'{a'\n", "x = f'}'\n", "x = f'{a:b'\n", "x = f'{(a]}'\n", "x = f'{a:\n}'\n", "x = t'{f'{a'}'\n",
        "x = f'\\N{a'\n", "x = ! y\n", "x = $y\n", "x = (a; b)\n", "x = 1\ry = 2\n"}) {
    EXPECT_FALSE(PythonSource::parse(text)) << text;
  }
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "f'{";
  EXPECT_FALSE(PythonSource::parse(deep));
}

// The texts of the tokens.
std::vector<std::string> tokens(std::string_view text) {
  const auto source = PythonSource::parse(std::string(text));
  if (!source) return {"refused"};
  std::vector<std::string> texts;
  for (const Token& token : source->tokens()) texts.emplace_back(token.text);
  return texts;
}

TEST(PythonSource, AStringWithFieldsIsOneTokenWhateverItsFieldsHold) {
  // Its own quotes, comments and line breaks in fields: Python 3.12 (PEP 701); t-strings: 3.14.
  for (const char* text : {R"(f"{d["k"]}")",
                           R"(f'{f'{f'{1}'}'}')",
                           R"(f"{x:{"a"}>{width}}")",
                           R"(f"{d['}']:}")",
                           R"(t"{d["k"]}")",
                           R"(Rt'{x!r:>5}')",
                           "f'''{\n  d['''k''']  # it's }\n}'''",
                           "f\"{\n  x\n}\"",
                           R"(f"{'\n'.join(a)}")",
                           R"(f"{{'{x}'}}")",
                           R"(f"{(y := 1)}")",
                           R"(f"{x:=^10}")",
                           R"(f"{a != b}")",
                           R"(f"{x = }")",
                           R"(rf"\{x["k"]}")",
                           R"(rf"\N{x["k"]}")",
                           R"(f"\N{BULLET}{x["k"]}")",
                           R"(f"{ {'a': 1}['a'] }")",
                           R"(f'{x:%H:%M "{y}"}')",
                           R"(F"{rb"\""}")",
                           R"(f"{(lambda x: {1: 2}[x])(1)}")",
                           "f'''{x:\n}'''",
                           R"(b"{")",
                           R"(u'}')",
                           R"("{d[")",
                           "'a\\\r\nb'"}) {
    EXPECT_EQ(tokens("x = " + std::string(text) + " + y\n"), (std::vector<std::string>{"x", "=", text, "+", "y"}))
        << text;
  }
  const auto source = PythonSource::parse("x = f\"{\n  y\n}\"\nz = f'{\"\"}'\n");
  ASSERT_TRUE(source);
  ASSERT_EQ(source->statements().size(), 2U);
  EXPECT_EQ(source->statements()[0].last, 2U);
  EXPECT_EQ(source->statements()[1].first, 3U);
  EXPECT_TRUE(source->has_long_string(0, 2));
}

TEST(PythonSource, ANumberEndsWhereItsDigitsDo) {
  EXPECT_EQ(tokens("0x1e+1, 1_0.5e-3j, 1..real, 1if x, .5\n"),
            (std::vector<std::string>{"0x1e", "+", "1", ",", "1_0.5e-3j", ",", "1.", ".", "real", ",", "1", "if", "x",
                                      ",", ".5"}));
}

}  // namespace
}  // namespace tapelens::check
