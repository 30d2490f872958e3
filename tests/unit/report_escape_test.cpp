// Names in a recording cannot inject control sequences or markup into the output.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analyzer/report/report.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/layout.h"
#include "testing/trace_builder.h"

namespace tapelens::report {

using text::cell;
using text::code;
using text::code_block;
using text::html;
using text::Page;
using text::Paint;
using text::printable;
using text::printable_json;
using text::Style;

namespace {

TEST(Escape, NamesThatPeopleWriteStayAsTheyAre) {
  for (const char* name : {"/home/me/my project/train.py", "net.layers.0.self_attn.q_proj", "größe/モデル.py:12",
                           "<lambda>", "a\tb", "c++ & rust: 100 %", "🙂"}) {
    EXPECT_EQ(printable(name), name);
  }
}

TEST(Escape, WhatActsUponATerminalOrIsNotSeenIsSaidByItsNumber) {
  EXPECT_EQ(printable("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(printable("a\rb\nc\x7f"), "a\\x0db\\nc\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m")
      << "the same as ESC [ to some terminals";
  EXPECT_EQ(printable("\xe2\x80\xaegnp.exe"), "\\u202egnp.exe");
  EXPECT_EQ(printable("zero\xe2\x80\x8bwidth\xef\xbb\xbf"), "zero\\u200bwidth\\ufeff");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
}

TEST(Escape, JsonKeepsItsMeaning) {
  const nlohmann::json value = {{"name", "a\x1b\x7f\xc2\x9b\xe2\x80\xae\xf3\xa0\x80\x81 é"}};
  const std::string shown = printable_json(value.dump(2));
  EXPECT_EQ(shown, "{\n  \"name\": \"a\\u001b\\u007f\\u009b\\u202e\\udb40\\udc01 é\"\n}");
  EXPECT_EQ(nlohmann::json::parse(shown), value);
}

TEST(Escape, MarkdownHasNoLinksImagesOrMentions) {
  EXPECT_EQ(cell("![x](http://e.vil/?a) @someone #12 www.e.vil"),
            "!\\[x](http:<!-- -->//e.vil/?a) @<!-- -->someone #<!-- -->12 www<!-- -->.e.vil");
  EXPECT_EQ(cell("a|b\n<img src=x>$x$"), "a\\|b\\\\n\\<img src=x>\\$x\\$");
  EXPECT_EQ(code("`@me` | \x1b"), "`'@me' \\| \\x1b`");
  EXPECT_EQ(code_block("diff", "+ ```\n-\x1b"), "````diff\n+ ```\n-\\x1b\n````\n");
  EXPECT_EQ(html("<b onclick=\"x\">'&"), "&lt;b onclick=&quot;x&quot;&gt;&#39;&amp;");
}

TEST(Escape, APageHasNoSequencesButItsOwn) {
  Style style;
  style.color = true;
  Page page(style);
  page.line(page.paint(Paint::red, "a\x1b[2Jb") +
            " \xfe"
            "c\xff"
            "\n");
  page.heading("title\x1b[8m", "remark\r");
  EXPECT_EQ(page.take(),
            "\033[31ma\\x1b[2Jb\033[0m \033[0m\033[0m\\n\n\n\033[1mtitle\\x1b[8m\033[0m  \033[2mremark\\x0d\033[0m\n");
}

TEST(Escape, NothingOfARecordingReachesAReportAsItIs) {
  const std::string bad = "x\x1b[31m\x07\r\xe2\x80\xae![i](http://e.vil)@all";
  trace::SpoolBuilder b;
  b.information("torch_version", bad).enter(bad, bad).op(bad, {}, b.stack({b.frame("/" + bad + ".py", 3, bad)}));
  b.alloc(0x10, 1 << 20, bad).node(bad, 0xa).save(0xa, bad, 0x10, 1 << 20, b.layout(bad, 4, {4}, {1})).end_op().leave();
  b.range(bad).end_range();
  const run::Run recording = b.seal();
  const auto built = build(recording, {});
  ASSERT_TRUE(built) << built.error().message;
  for (const std::string& shown : {text(*built, {}), markdown(*built, 10), json(*built)}) {
    for (const char* part : {"\x1b", "\x07", "\r", "\xe2\x80\xae"})
      EXPECT_EQ(shown.find(part), std::string::npos) << shown;
  }
  const std::string comment = markdown(*built, 10);
  for (size_t at = comment.find("![i]"); at != std::string::npos; at = comment.find("![i]", at + 1)) {
    const size_t line = comment.rfind('\n', at) + 1;
    EXPECT_EQ(std::count(comment.begin() + static_cast<std::ptrdiff_t>(line),
                         comment.begin() + static_cast<std::ptrdiff_t>(at), '`') %
                  2,
              1)
        << "as code: " << comment.substr(line, 200);
  }
}

}  // namespace
}  // namespace tapelens::report
