// Opens a line of a source file in the user's editor.
#pragma once

#include <QString>
#include <QStringList>

namespace tapelens::gui {

// The existing path of a file that a recording names; relative paths are searched in `folders`. Empty: not found.
QString found_source(const QString& file, const QStringList& folders);
// Whether a path ends like source code. A recording can name any file of this machine.
bool is_source_code(const QString& path);

// The command that opens a line in an editor with windows, named as in $VISUAL: "code --wait". Empty: the editor is
// unknown, or needs a terminal.
QStringList editor_command(const QString& editor, const QString& path, int line);

// Uses $VISUAL or $EDITOR, else the desktop's program for such files. False: neither starts, or the file is not source
// code.
bool open_in_editor(const QString& path, int line);

}  // namespace tapelens::gui
