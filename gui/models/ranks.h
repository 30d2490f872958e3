// The ranks of a run, as in `tapelens ranks`. Reads a folder of recordings in the background.
#pragma once

#include <QAbstractTableModel>
#include <QObject>
#include <QString>
#include <atomic>
#include <memory>
#include <vector>

#include "analyzer/ranks/job.h"

class QThreadPool;

namespace tapelens::gui {

class Ranks : public QObject {
  Q_OBJECT
 public:
  // `version`: of this Tapelens. Findings from another version's checks are not used.
  explicit Ranks(QString version, QObject* parent = nullptr);
  ~Ranks() override;

  // The previous job stays until the new one is read, or until changed() reports a problem.
  void open(const QString& folder);
  void cancel();
  bool is_reading() const { return reading_ != nullptr; }
  const QString& folder() const { return folder_; }                      // the folder of job()
  const QString& problem() const { return problem_; }                    // error of the last open(); empty: none
  const std::shared_ptr<const ranks::Job>& job() const { return job_; }  // null: no folder was read

 Q_SIGNALS:
  void progressed(double share);
  void changed();

 private:
  struct Reading {
    std::atomic<bool> cancelled = false;
  };

  QString version_, folder_, problem_;
  std::shared_ptr<const ranks::Job> job_;
  std::shared_ptr<Reading> reading_;
  QThreadPool* pool_;
};

// One row a rank. Qt::EditRole returns bytes as numbers, for programs.
class RanksTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  // The columns from `categories` on: one for each category, then the last two.
  enum Column : uint8_t { number, host, peak, reserved, categories };
  enum Role : int { sort_role = Qt::UserRole, why_role, file_role };

  using QAbstractTableModel::QAbstractTableModel;

  void show(std::shared_ptr<const ranks::Job> job);  // null shows no rows
  int steps_column() const { return columnCount() - 2; }
  int end_column() const { return columnCount() - 1; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  QVariant value(const ranks::Rank& rank, int column) const;  // a number or text
  QString text(const ranks::Rank& rank, int column) const;

  std::shared_ptr<const ranks::Job> job_;
  std::vector<QString> why_;  // by rank: reasons why it stands out, one a line
};

// One row for each finding that several ranks share.
class SharedFindings : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column : uint8_t { title, on, median, most, place, kColumns };
  enum Role : int { sort_role = Qt::UserRole };

  using QAbstractTableModel::QAbstractTableModel;

  void show(std::shared_ptr<const ranks::Job> job);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  std::shared_ptr<const ranks::Job> job_;
};

}  // namespace tapelens::gui
