// Copies a command's output from its file to the user while the command writes it. The file stays for a comparison.
#pragma once

#include <condition_variable>
#include <string>
#include <thread>

#include "base/mutex.h"

namespace tapelens::cli {

class Echo {
 public:
  // `descriptor`: the destination; -1: none.
  Echo(std::string path, int descriptor);
  ~Echo() { finish(); }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;
  void finish();  // call after the command has ended: copies the rest of the file at once

 private:
  void watch();
  void repeat(int file);

  const std::string path_;
  const int descriptor_;
  base::Mutex lock_;
  std::condition_variable_any over_;
  bool is_over_ TAPELENS_GUARDED_BY(lock_) = false;
  std::thread thread_;
};

}  // namespace tapelens::cli
