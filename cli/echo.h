// Repeats what a command writes into a file, while it writes it: the file is kept for a comparison, and the user sees
// it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tapelens::cli {

class Echo {
 public:
  // `descriptor`: where to; -1: nowhere.
  Echo(std::string path, int descriptor);
  ~Echo() { finish(); }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;
  void finish();  // the command has ended: what is left of the file comes at once

 private:
  void watch();
  void repeat(int file);

  const std::string path_;
  const int descriptor_;
  std::mutex lock_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace tapelens::cli
