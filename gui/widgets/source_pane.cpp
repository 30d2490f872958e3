#include "gui/widgets/source_pane.h"

#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "analyzer/check/sources.h"
#include "analyzer/model/text.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/text/format.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/editor.h"
#include "gui/widgets/theme.h"
#include "trace/regular_file.h"

namespace tapelens::gui {

namespace {

constexpr int kLinesAround = 1000;

struct Source {
  QByteArray text;
  int first = 1;
  bool is_part = false;
};

// Keeps only the lines around the wanted one of a large file.
Source read(QFile& file, int line) {
  Source out;
  if (file.size() <= SourcePane::kMostBytes) {
    out.text = file.readAll();
    return out;
  }
  out.is_part = true;
  out.first = std::max(1, line - kLinesAround);
  std::array<char, 1 << 16> buffer;  // longer lines are read in parts
  for (int at = 1; at <= line + kLinesAround && out.text.size() < SourcePane::kMostBytes;) {
    const qint64 bytes = file.readLine(buffer.data(), buffer.size());
    if (bytes <= 0) break;
    if (at >= out.first) out.text.append(buffer.data(), bytes);
    if (buffer[static_cast<size_t>(bytes) - 1] == '\n') ++at;
  }
  return out;
}

}  // namespace

SourcePane::SourcePane(QWidget* parent)
    : QWidget(parent),
      title_(new QLabel(this)),
      remark_(new QLabel(this)),
      frames_(new QComboBox(this)),
      pages_(new QStackedWidget(this)),
      view_(new SourceView(this)),
      sentence_(new QLabel(this)),
      show_anyway_(new QPushButton(QStringLiteral("Show the file"), this)) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(kGap / 2);
  title_->setTextFormat(Qt::PlainText);
  title_->setFont(small_font());
  title_->setForegroundRole(QPalette::PlaceholderText);
  title_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  remark_->setFont(small_font());
  remark_->setWordWrap(true);
  remark_->hide();
  frames_->setAccessibleName(QStringLiteral("Frames of the stack, the innermost first"));
  frames_->setToolTip(QStringLiteral("The stack, the innermost frame first"));
  frames_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  frames_->setMinimumContentsLength(12);
  sentence_->setWordWrap(true);
  sentence_->setAlignment(Qt::AlignCenter);
  sentence_->setMargin(kMargin);
  sentence_->setTextFormat(Qt::PlainText);
  sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* said = new QWidget(this);
  auto* sentences = new QVBoxLayout(said);
  sentences->addStretch(1);
  sentences->addWidget(sentence_);
  sentences->addWidget(show_anyway_, 0, Qt::AlignHCenter);
  sentences->addStretch(1);
  pages_->addWidget(said);
  pages_->addWidget(view_);
  rows->addWidget(frames_);
  rows->addWidget(title_);
  rows->addWidget(remark_);
  rows->addWidget(pages_, 1);
  connect(frames_, &QComboBox::currentIndexChanged, this, [this](int at) {
    if (at < 0) return;
    show_text();
    Q_EMIT frameChanged(at);
  });
  connect(show_anyway_, &QPushButton::clicked, this,
          [this] { show_file(found(stack_[static_cast<size_t>(this->frame())].file)); });
  show_stack({}, QStringLiteral("No allocation is selected."));
}

void SourcePane::set_recording(const QString& recording, const model::Text& text) {
  set_folders({QFileInfo(recording).absolutePath()});
  recorded_.clear();
  for (const model::SourceFile& file : text.sources) recorded_.emplace(text.string(file.path), file);
}

int SourcePane::frame() const { return frames_->currentIndex(); }
void SourcePane::show_frame(int frame) { frames_->setCurrentIndex(frame); }

void SourcePane::show_stack(std::vector<report::Frame> stack, const QString& none) {
  stack_ = std::move(stack);
  const QSignalBlocker quiet(frames_);
  frames_->clear();
  int own = -1;
  for (const report::Frame& frame : stack_) {
    const bool is_library = model::is_library_frame(frame.file, frame.function);
    const int at = frames_->count();
    frames_->addItem(visible(report::source_text(frame)));
    frames_->setItemData(at, plain_tip(visible(frame.file)), Qt::ToolTipRole);
    if (is_library) frames_->setItemData(at, theme().faint, Qt::ForegroundRole);
    if (!is_library && own < 0) own = at;
  }
  frames_->setVisible(!stack_.empty());
  if (!stack_.empty()) {
    frames_->setCurrentIndex(std::max(0, own));
    return show_text();
  }
  name_.clear();
  cut_title();
  remark_->hide();
  say(none);
}

// Both ends of a path matter, so the title is cut in the middle.
void SourcePane::cut_title() {
  title_->setVisible(!name_.isEmpty());
  title_->setText(title_->fontMetrics().elidedText(name_, Qt::ElideMiddle, width()));
}

void SourcePane::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  cut_title();
}

void SourcePane::say(const QString& sentence) {
  sentence_->setText(sentence);
  show_anyway_->hide();
  pages_->setCurrentIndex(0);
}

// Names a file relative to the recording's folder, if it is inside that folder.
QString SourcePane::name_of(const std::string& file) const {
  const QString path = QString::fromStdString(file);
  for (const QString& folder : folders_) {
    const QString name = QDir(folder).relativeFilePath(path);
    if (QFileInfo(path).isAbsolute() && !name.startsWith(QStringLiteral(".."))) return name;
  }
  return path;
}

QString SourcePane::found(const std::string& file) const {
  return found_source(QString::fromStdString(file), folders_);
}

bool SourcePane::is_of_program(const QString& path) const {
  if (!is_source_code(path)) return false;
  const QString file = QFileInfo(path).canonicalFilePath();  // after following links
  for (const char* part : {"/site-packages/", "/dist-packages/", "/lib/python3"})
    if (file.contains(QLatin1String(part))) return true;
  const std::string here = QDir::currentPath().toStdString();
  QStringList folders = folders_;
  folders << QString::fromStdString(check::source_tree_at(here).root.string());
  for (const char* environment : {"VIRTUAL_ENV", "CONDA_PREFIX"}) folders << qEnvironmentVariable(environment);
  return std::ranges::any_of(folders, [&](const QString& folder) {
    const QString root = folder.isEmpty() ? QString() : QFileInfo(folder).canonicalFilePath();
    return !root.isEmpty() && root != QLatin1String("/") && file.startsWith(root + QLatin1Char('/'));
  });
}

void SourcePane::show_text() {
  const report::Frame& frame = stack_[static_cast<size_t>(this->frame())];
  name_ = name_of(frame.file);
  cut_title();
  title_->setToolTip(plain_tip(visible(frame.file)));
  remark_->hide();
  if (frame.file.empty()) return say(QStringLiteral("The file of this frame is not known."));
  const QString path = found(frame.file);
  if (path.isEmpty()) return say(QStringLiteral("%1 is not on this machine.").arg(visible(frame.file)));
  if (is_of_program(path)) return show_file(path);
  say(QStringLiteral("The recording names %1, which is not a source file below the folders of the program, of the "
                     "recording or of Python.")
          .arg(visible(frame.file)));
  show_anyway_->show();
}

void SourcePane::show_file(const QString& path) {
  const report::Frame& frame = stack_[static_cast<size_t>(this->frame())];
  auto opened = trace::RegularFile::open(path.toStdString());
  QFile file;
  if (!opened || !file.open(opened->descriptor(), QIODevice::ReadOnly)) {
    const QString why = opened ? file.errorString() : QString::fromStdString(opened.error().message);
    return say(QStringLiteral("%1 cannot be read: %2.").arg(visible(frame.file), why));
  }
  const Source source = read(file, static_cast<int>(frame.line));
  if (source.is_part) {
    remark_->setText(QStringLiteral("Only the lines around are shown: the file has %1.")
                         .arg(QString::fromStdString(text::bytes_text({file.size()}))));
    remark_->show();
  }
  const std::string_view content(source.text.constData(), static_cast<size_t>(source.text.size()));
  if (const auto recorded = recorded_.find(frame.file);
      recorded != recorded_.end() && !source.is_part && !model::is_same(recorded->second, content)) {
    remark_->setText(QStringLiteral("Changed since the recording; lines may be off."));
    remark_->show();
  }
  view_->show_source(QString::fromUtf8(source.text), source.first, static_cast<int>(frame.line));
  view_->setAccessibleName(QStringLiteral("Source of %1").arg(frames_->currentText()));
  pages_->setCurrentWidget(view_);
}

void SourcePane::changeEvent(QEvent* event) {
  // Faint frames have fixed colors, so they are recolored.
  if (event->type() == QEvent::PaletteChange) {
    for (int at = 0; at < frames_->count(); ++at) {
      if (frames_->itemData(at, Qt::ForegroundRole).isValid())
        frames_->setItemData(at, theme().faint, Qt::ForegroundRole);
    }
  }
  QWidget::changeEvent(event);
}

}  // namespace tapelens::gui
