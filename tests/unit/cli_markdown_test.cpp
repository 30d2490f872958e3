// Markdown in a terminal.
#include <gtest/gtest.h>

#include "cli/markdown.h"

namespace tapelens::cli {
namespace {

std::string shown(std::string_view markdown, unsigned width = 60, bool color = false) {
  text::Page page(text::Style{.width = width, .color = color});
  show_markdown(page, markdown);
  return page.take();
}

TEST(Markdown, HeadingsParagraphsAndMarksBecomePlainText) {
  EXPECT_EQ(shown("# wide-save: a *title*\n\n**Finds** `relu` and\n[tables](https://a.b/c) of [its page](x.md).\n"),
            "wide-save: a title\n\nFinds relu and tables (https://a.b/c) of its page.\n");
  EXPECT_EQ(shown("2 * 3 * 4 and a `b*c` [1]"), "2 * 3 * 4 and a b*c [1]\n");
  EXPECT_EQ(shown("**a `b` c** d"), "a b c d\n");
  EXPECT_EQ(shown(""), "");
}

TEST(Markdown, TextWrapsAtTheWidthAndItemsAreIndented) {
  EXPECT_EQ(shown("aaaa bbbb cccc\n\n- dddd eeee ffff\n  gggg\n- hhhh\n\niiii", 14),
            "aaaa bbbb cccc\n\n  - dddd eeee\n    ffff gggg\n  - hhhh\n\niiii\n");
}

TEST(Markdown, CodeIsIndentedAndNotWrapped) {
  EXPECT_EQ(shown("Text:\n\n```python\nif x:\n    # no heading, **not bold**\n\n```\nMore", 10),
            "Text:\n\n    if x:\n        # no heading, **not bold**\n\n\nMore\n");
  EXPECT_EQ(shown("Type\n\n    tapelens report run.tapelens\n\nthen"),
            "Type\n\n    tapelens report run.tapelens\n\nthen\n");
}

TEST(Markdown, TablesHaveAlignedColumnsAndTheLastOneWraps) {
  EXPECT_EQ(shown("| option | default | |\n| --- | :-- | --- |\n| `min-bytes` | 4KiB | copies of less are skipped |\n"
                  "| `a` | x \\| y | b |\n",
                  40),
            "  option     default\n"
            "  min-bytes  4KiB     copies of less are\n"
            "                      skipped\n"
            "  a          x | y    b\n");
}

TEST(Markdown, ATableThatIsTooWideIsAListOfItsCells) {
  EXPECT_EQ(shown("| name | use |\n| --- | --- |\n| a long first cell | use this |\n", 20),
            "  name\n    use\n  a long first cell\n    use this\n");
}

TEST(Markdown, CommentsAndPicturesAreLeftOut) {
  EXPECT_EQ(shown("a\n\n<!-- console: x -->\n![the curve](gui/a.png)\n\n<!-- one\ntwo -->\nb"), "a\n\nb\n");
}

TEST(Markdown, ColorDoesNotChangeTheLines) {
  constexpr std::string_view kText = "# Title\n\n**Finds** a `cat` of one tensor, and more words to wrap here\n";
  std::string painted = shown(kText, 24, true);
  for (size_t at; (at = painted.find('\033')) != std::string::npos;) painted.erase(at, painted.find('m', at) - at + 1);
  EXPECT_EQ(painted, shown(kText, 24));
}

}  // namespace
}  // namespace tapelens::cli
