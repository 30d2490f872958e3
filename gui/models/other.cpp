#include "gui/models/other.h"

#include <QMetaObject>
#include <QThreadPool>

#include "gui/models/visible_text.h"

namespace tapelens::gui {

Other::Other(Session& session, QObject* parent) : QObject(parent), session_(session), pool_(new QThreadPool(this)) {
  pool_->setMaxThreadCount(1);
  connect(&session, &Session::opened, this, [this] {
    step_.reset();
    find();
    Q_EMIT changed();
  });
  connect(&session, &Session::closed, this, &Other::close);
  connect(&session, &Session::viewChanged, this, [this](const ViewState& before) {
    if (before.subject == session_.view().subject) return;
    find();
    Q_EMIT changed();
  });
}

Other::~Other() {
  if (opening_) opening_->cancelled = true;
  pool_->clear();
  pool_->waitForDone();
}

void Other::open(const QString& path) {
  cancel();
  problem_.clear();
  opening_ = std::make_shared<Job>();
  Q_EMIT changed();
  pool_->start([this, job = opening_, path] {
    const Progress progress = [&](const QString& what, double share) {
      if (job->cancelled) throw Cancelled{};
      QMetaObject::invokeMethod(this, [this, job, what, share] {
        if (!job->cancelled) Q_EMIT progressed(what, share);
      });
    };
    try {
      QMetaObject::invokeMethod(this, [this, job, loaded = Document::load(path, progress)] {
        if (!job->cancelled) show(loaded);
      });
    } catch (const Cancelled&) {
    }
  });
}

void Other::cancel() {
  if (!opening_) return;
  opening_->cancelled = true;
  opening_.reset();
  Q_EMIT changed();
}

void Other::close() {
  if (opening_) opening_->cancelled = true;
  opening_.reset();
  document_.reset();
  problem_.clear();
  step_.reset();
  find();
  Q_EMIT changed();
}

void Other::show(const Loaded& loaded) {
  opening_.reset();
  problem_ = loaded ? QString() : sentence(loaded.error());
  if (loaded) {
    document_ = *loaded;
    step_.reset();
    find();
  }
  Q_EMIT changed();
}

void Other::compare(std::optional<uint32_t> step, peak::By by) {
  if (step == step_ && by == by_) return;
  step_ = step;
  by_ = by;
  find();
}

void Other::find() {
  const uint64_t number = ++number_;
  comparison_.reset();
  subject_ = 0;
  if (document_ && session_.document() != nullptr) {
    const auto& subjects = document_->subjects();
    const QString& wanted = session_.subject().name;
    for (size_t i = subjects.size(); i-- > 0;) {
      if (subjects[i]->name == wanted) subject_ = i;
    }
    pool_->start([this, number, a = session_.shared(), of_a = session_.view().subject, b = document_, of_b = subject_,
                  step = step_, by = by_] {
      auto found =
          std::make_shared<const MomentComparison>(gui::compare(*a, a->subject(of_a), *b, b->subject(of_b), step, by));
      QMetaObject::invokeMethod(this, [this, number, found] {
        if (number != number_) return;
        comparison_ = found;
        Q_EMIT compared();
      });
    });
  }
  Q_EMIT compared();
}

}  // namespace tapelens::gui
