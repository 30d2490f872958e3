#include "gui/models/ranks.h"

#include <QMetaObject>
#include <QStringList>
#include <QThreadPool>
#include <algorithm>
#include <array>

#include "analyzer/ranks/files.h"
#include "analyzer/ranks/renderings.h"
#include "analyzer/text/format.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

namespace {

QString bytes_of(model::Bytes bytes) { return QString::fromStdString(text::bytes_text(bytes)); }

QVariant aligned(bool is_number) {
  return QVariant::fromValue<Qt::Alignment>((is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
}

QString capital(QString words) {
  if (!words.isEmpty()) words[0] = words[0].toUpper();
  return words;
}

}  // namespace

Ranks::Ranks(QString version, QObject* parent)
    : QObject(parent), version_(std::move(version)), pool_(new QThreadPool(this)) {
  pool_->setMaxThreadCount(1);
}

Ranks::~Ranks() {
  if (reading_) reading_->cancelled = true;
  pool_->clear();
  pool_->waitForDone();
}

void Ranks::open(const QString& folder) {
  cancel();
  problem_.clear();
  reading_ = std::make_shared<Reading>();
  Q_EMIT changed();
  pool_->start([this, reading = reading_, folder, version = version_.toStdString()] {
    const auto tell = [&](double share) {
      QMetaObject::invokeMethod(this, [this, reading, share] {
        if (!reading->cancelled) Q_EMIT progressed(share);
      });
      return !reading->cancelled;
    };
    trace::Result<ranks::Job> found = trace::Error{};
    const auto files = ranks::files_of({folder.toStdString()});
    if (files) {
      std::vector<ranks::RankFile> sources =
          ranks::read_all(*files, {.version = version, .checks = {}, .progress = tell});
      if (reading->cancelled) return;
      found = ranks::merge(std::move(sources), {}, version);
    } else {
      found = files.error();
    }
    auto job = found ? std::make_shared<const ranks::Job>(std::move(*found)) : nullptr;
    const QString problem = found ? QString() : visible(found.error().message);
    QMetaObject::invokeMethod(this, [this, reading, folder, job, problem] {
      if (reading->cancelled) return;
      reading_.reset();
      problem_ = problem;
      if (job) {
        job_ = job;
        folder_ = folder;
      }
      Q_EMIT changed();
    });
  });
}

void Ranks::cancel() {
  if (!reading_) return;
  reading_->cancelled = true;
  reading_.reset();
  Q_EMIT changed();
}

void RanksTable::show(std::shared_ptr<const ranks::Job> job) {
  beginResetModel();
  job_ = std::move(job);
  why_.assign(job_ ? job_->ranks.size() : 0, {});
  for (size_t at = 0; job_ && at < job_->outliers.size(); ++at) {
    const ranks::Outlier& one = job_->outliers[at];
    QStringList lines{visible(ranks::outlier_text(*job_, one))};
    for (const ranks::Reason& reason : one.reasons)
      lines << QString::fromUtf8(ranks::kByNames[static_cast<size_t>(reason.by)]) + QStringLiteral(": ") +
                   visible(ranks::reason_text(reason));
    QString& why = why_[one.rank];
    why += (why.isEmpty() ? QString() : QStringLiteral("\n")) + lines.join('\n');
  }
  endResetModel();
}

int RanksTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !job_ ? 0 : static_cast<int>(job_->ranks.size());
}

int RanksTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : categories + 2 + (job_ ? static_cast<int>(job_->categories.size()) : 0);
}

QVariant RanksTable::value(const ranks::Rank& rank, int column) const {
  const ranks::RankSummary& said = rank.summary;
  if (column == steps_column()) return static_cast<qulonglong>(said.steps);
  if (column == end_column()) return visible(ranks::end_text(said));
  switch (column) {
    case number:
      return said.rank >= 0 ? QVariant(said.rank) : QVariant(said.pid);
    case host:
      return visible(said.host);
    case peak:
      return static_cast<qlonglong>(rank.device().peak.value);
    case reserved:
      return rank.device().reserved_peak ? QVariant(static_cast<qlonglong>(rank.device().reserved_peak->value))
                                         : QVariant();
    default: {
      const auto& rows = rank.device().by[static_cast<size_t>(ranks::By::category)].rows;
      const auto at = std::ranges::find(rows, job_->categories[static_cast<size_t>(column - categories)].category,
                                        &ranks::Sum::key);
      return static_cast<qlonglong>(at == rows.end() ? 0 : at->bytes.value);
    }
  }
}

QString RanksTable::text(const ranks::Rank& rank, int column) const {
  const QVariant found = value(rank, column);
  if (column == number || column == host || column >= steps_column()) return found.toString();
  if (!found.isValid() || found.toLongLong() == 0) return QStringLiteral("-");
  return bytes_of({found.toLongLong()});
}

QVariant RanksTable::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  const auto row = static_cast<size_t>(index.row());
  const ranks::Rank& rank = job_->ranks[row];
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole:
      return text(rank, column);
    case Qt::EditRole:
    case sort_role:
      return value(rank, column);
    case Qt::ToolTipRole: {
      QStringList lines{visible(ranks::name_on_host(rank)) + QStringLiteral(": ") + visible(rank.file)};
      if (!why_[row].isEmpty()) lines << why_[row];
      return plain_tip(lines.join('\n'));
    }
    case why_role:
      return why_[row].isEmpty() && rank.summary.ended_well() ? QVariant() : QVariant(why_[row]);
    case file_role:
      return QString::fromStdString(rank.file);
    case Qt::TextAlignmentRole:
      return aligned(column != host && column != end_column());
    default:
      return {};
  }
}

QVariant RanksTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  if (role == Qt::TextAlignmentRole) return aligned(section != host && section != end_column());
  if (role != Qt::DisplayRole) return {};
  if (section == steps_column()) return QStringLiteral("Steps");
  if (section == end_column()) return QStringLiteral("End");
  static constexpr std::array<const char*, categories> kTitles = {"Rank", "Host", "Peak", "Reserved"};
  if (section < categories) return QString::fromUtf8(kTitles[static_cast<size_t>(section)]);
  return capital(
      visible(ranks::category_heading(job_->categories[static_cast<size_t>(section - categories)].category)));
}

void SharedFindings::show(std::shared_ptr<const ranks::Job> job) {
  beginResetModel();
  job_ = std::move(job);
  endResetModel();
}

int SharedFindings::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !job_ ? 0 : static_cast<int>(job_->findings.size());
}

int SharedFindings::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant SharedFindings::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  const ranks::SharedFinding& one = job_->findings[static_cast<size_t>(index.row())];
  const int column = index.column();
  if (role == Qt::TextAlignmentRole) return aligned(column == median || column == most);
  const bool is_text = role == Qt::DisplayRole || role == Qt::ToolTipRole;
  if (!is_text && role != Qt::EditRole && role != sort_role) return {};
  QString words;
  switch (column) {
    case title:
      words = visible(one.finding.title);
      break;
    case on:
      if (!is_text) return static_cast<qulonglong>(one.ranks.size());
      words = visible(ranks::on_ranks_text(*job_, one));
      break;
    case place:
      words = visible(ranks::place_text(one.finding));
      break;
    default: {
      const model::Bytes bytes = column == median ? one.median : one.most;
      if (!is_text) return static_cast<qlonglong>(bytes.value);
      words = bytes_of(bytes);
    }
  }
  return role == Qt::ToolTipRole ? plain_tip(words) : words;
}

QVariant SharedFindings::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  if (role == Qt::TextAlignmentRole) return aligned(section == median || section == most);
  static constexpr std::array<const char*, kColumns> kTitles = {"Finding", "Ranks", "Median", "Most", "Place"};
  return role == Qt::DisplayRole ? QVariant(QString::fromUtf8(kTitles[static_cast<size_t>(section)])) : QVariant();
}

}  // namespace tapelens::gui
