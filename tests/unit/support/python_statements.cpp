// Prints the statements that PythonSource finds in Python files, to compare with Python's own tokenize
// (python_statements.py): for each file its name, or "refused" and its name, and for each statement its tokens as
// LINE:KIND:BYTES.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "analyzer/check/python_source.h"

int main(int argc, char** argv) {
  using tapelens::check::PythonSource;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const auto source = PythonSource::parse(std::string(std::istreambuf_iterator<char>(file), {}));
    std::printf("%s %s\n", source ? "file" : "refused", argv[i]);
    if (!source) continue;
    for (const auto& statement : source->statements()) {
      for (const auto* token = source->begin(statement); token != source->end(statement); ++token) {
        std::printf("%u:%c:%zu ", token->line + 1,
                    "nsop"[token->kind == tapelens::check::Token::Kind::string   ? 1
                           : token->kind == tapelens::check::Token::Kind::name   ? 0
                           : token->kind == tapelens::check::Token::Kind::number ? 3
                                                                                 : 2],
                    token -> text.size());
      }
      std::printf("\n");
    }
  }
}
