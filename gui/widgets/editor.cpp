#include "gui/widgets/editor.h"

#include <QDesktopServices>
#include <QFileInfo>
#include <QProcess>
#include <QUrl>

namespace tapelens::gui {

QString found_source(const QString& file, const QStringList& folders) {
  if (QFileInfo(file).isAbsolute()) return QFileInfo(file).isFile() ? file : QString();
  for (const QString& folder : folders) {
    const QString there = folder + QLatin1Char('/') + file;
    if (!file.isEmpty() && QFileInfo(there).isFile()) return there;
  }
  return {};
}

bool is_source_code(const QString& path) {
  static const QStringList kEndings = {"py", "pyi", "pyx", "pxd", "c",   "cc",  "cpp", "cxx",
                                       "cu", "cuh", "h",   "hh",  "hpp", "hxx", "inc", "inl"};
  return kEndings.contains(QFileInfo(QFileInfo(path).canonicalFilePath()).suffix().toLower());  // after following links
}

QStringList editor_command(const QString& editor, const QString& path, int line) {
  QStringList command = QProcess::splitCommand(editor);
  if (command.isEmpty()) return {};
  const QString name = QFileInfo(command.first()).fileName();
  const auto is = [&](std::initializer_list<const char*> names) {
    for (const char* each : names)
      if (name == QLatin1String(each)) return true;
    return false;
  };
  const QString number = QString::number(line);
  if (is({"code", "code-insiders", "codium", "cursor", "windsurf"}))
    return command << QStringLiteral("--goto") << path + QLatin1Char(':') + number;
  if (is({"subl", "sublime_text", "zed", "zeditor"})) return command << path + QLatin1Char(':') + number;
  if (is({"kate", "kwrite", "pycharm", "charm", "clion", "idea"}))
    return command << QStringLiteral("--line") << number << path;
  if (is({"gvim", "gedit", "gnome-text-editor", "xed", "pluma", "emacs"}))
    return command << QLatin1Char('+') + number << path;
  return {};
}

bool open_in_editor(const QString& path, int line) {
  if (!is_source_code(path)) return false;
  const QString absolute = QFileInfo(path).absoluteFilePath();  // never begins like an option
  for (const char* name : {"VISUAL", "EDITOR"}) {
    QStringList command = editor_command(qEnvironmentVariable(name), absolute, line);
    if (!command.isEmpty() && QProcess::startDetached(command.takeFirst(), command)) return true;
  }
  return QDesktopServices::openUrl(QUrl::fromLocalFile(absolute));
}

}  // namespace tapelens::gui
