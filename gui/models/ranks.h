// The ranks of a run, as `tapelens ranks` lays them side by side: read in the background from a folder of recordings.
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
  // `version`: of this Tapelens; findings of another one's checks are not taken for its own.
  explicit Ranks(QString version, QObject* parent = nullptr);
  ~Ranks() override;

  // What was read stays until the new one is there, or changed() with a problem follows.
  void open(const QString& folder);
  void cancel();
  bool is_reading() const { return reading_ != nullptr; }
  const QString& folder() const { return folder_; }                      // of job()
  const QString& problem() const { return problem_; }                    // of the last one that was opened; empty: none
  const std::shared_ptr<const ranks::Job>& job() const { return job_; }  // null: none

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

// A row a rank. Qt::EditRole is for programs: bytes as numbers.
class RanksTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  // From categories on one for each category, and behind them the last two.
  enum Column : uint8_t { number, host, peak, reserved, categories };
  enum Role : int { sort_role = Qt::UserRole, why_role, file_role };

  using QAbstractTableModel::QAbstractTableModel;

  void show(std::shared_ptr<const ranks::Job> job);  // null: none
  int steps_column() const { return columnCount() - 2; }
  int end_column() const { return columnCount() - 1; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  QVariant value(const ranks::Rank& rank, int column) const;  // a number, or words
  QString text(const ranks::Rank& rank, int column) const;

  std::shared_ptr<const ranks::Job> job_;
  std::vector<QString> why_;  // by rank: what stands out, a line each
};

// A row a finding that some ranks share.
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
