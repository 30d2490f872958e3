// Sizes, steps, quoting and suggestions of the command line.
#include <gtest/gtest.h>

#include "analyzer/text/escape.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

TEST(Text, MebibytesAreAPowerOf1024AndMegabytesOf1000) {
  EXPECT_EQ(parse_bytes("8GiB"), uint64_t{8} << 30);
  EXPECT_EQ(parse_bytes("500M"), uint64_t{500} << 20);
  EXPECT_EQ(parse_bytes("1.5k"), 1536u);
  EXPECT_EQ(parse_bytes("3Gi"), uint64_t{3} << 30);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("4096 B"), 4096u);
  EXPECT_EQ(parse_bytes("1.5kB"), 1500u);
  EXPECT_EQ(parse_bytes("500MB"), 500'000'000u);
  EXPECT_EQ(parse_bytes("2 tb"), 2'000'000'000'000u);
}

TEST(Text, WhatIsNoSizeIsRefused) {
  for (const char* text : {"", "GiB", "-1", "3Q", "1GG", "1e99", "nan", "8GiBs", "99999999999999999999"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(Text, StepsAreAHalfOpenRange) {
  EXPECT_EQ(parse_steps("2:4"), "2:4");
  EXPECT_EQ(parse_steps(":4"), "0:4");
  EXPECT_EQ(parse_steps("3:"), "3:");
  EXPECT_EQ(parse_steps("3"), "3:4");
}

TEST(Text, StepsThatHoldNoStepAreRefused) {
  for (const char* text : {"", ":", "4:4", "5:2", "a:b", "1:2:3", "-1:2", " 1:2"})
    EXPECT_FALSE(parse_steps(text)) << text;
}

TEST(Text, QuotedWordsAreReadBackByAShell) {
  EXPECT_EQ(text::shell_quote("train.py"), "train.py");
  EXPECT_EQ(text::shell_quote(""), "''");
  EXPECT_EQ(text::shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(text::shell_quote(std::vector<std::string>{"python", "-c", "print(1)"}), "python -c 'print(1)'");
}

TEST(Text, ASwapAMissingLetterAndABeginningAreUnderstood) {
  const std::vector<std::string> words = {"record", "report", "seal", "doctor", "completion"};
  EXPECT_EQ(nearest("recrod", words), "record");
  EXPECT_EQ(nearest("repot", words), "report");
  EXPECT_EQ(nearest("rec", words), "record");
  EXPECT_EQ(nearest("comp", words), "completion");
  EXPECT_EQ(nearest("xyzzy", words), std::nullopt);
}

TEST(Text, TheFirstErrorOfACompilerIsFound) {
  EXPECT_EQ(first_error("In file included from unit.cpp:1:\n"
                        "a.h: In function 'int f()':\n"
                        "a.h:4:10: error: 'x' was not declared in this scope\n"
                        "    4 |   return x;\n"
                        "      |          ^\n"
                        "b.h:9:1: error: expected ';'\n"),
            "a.h:4:10: error: 'x' was not declared in this scope");
  EXPECT_EQ(first_error("/usr/bin/ld: unit.o: in function `g()':\n"
                        "unit.cpp:(.text+0x5): undefined reference to `h()'\n"
                        "collect2: error: ld returned 1 exit status\n"),
            "unit.cpp:(.text+0x5): undefined reference to `h()'");
  EXPECT_EQ(first_error("Traceback (most recent call last):\n  File \"x.py\", line 1\nValueError: no fields\n\n"),
            "ValueError: no fields");
  EXPECT_EQ(first_error("last"), "last");
  EXPECT_EQ(first_error(""), "");
}

TEST(Text, APeakIsMoreThanAnyNumberOfBytes) {
  EXPECT_EQ(parse_peak("peak>60GiB"), uint64_t{60} << 30);
  EXPECT_EQ(parse_peak(" peak > 512 MiB"), uint64_t{512} << 20);
  EXPECT_EQ(parse_peak("peak>2GB"), 2'000'000'000u);
  for (const char* text : {"", "peak", "peak>", "peak>0", "peak<1GiB", "peak>=1GiB", "60GiB", "live>1GiB", "peak>x"})
    EXPECT_EQ(parse_peak(text), std::nullopt) << text;
}

}  // namespace
}  // namespace tapelens::cli
