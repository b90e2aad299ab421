#include "benchmarks/end_to_end/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace lanewise::benchmarks {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

absl::Status Failed(const std::string& what) { return Internal(what, ": ", std::strerror(errno)); }

}  // namespace

absl::StatusOr<ProcessCost> RunProcess(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) return Failed("cannot start a process");
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage usage = {};
  while (wait4(child, &status, 0, &usage) != child) {
    if (errno != EINTR) return Failed(absl::StrCat("cannot wait for ", command[0]));
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Internal(WIFEXITED(status) ? absl::StrCat("exit status ", WEXITSTATUS(status))
                                      : absl::StrCat("signal ", WTERMSIG(status)),
                    " of: ", absl::StrJoin(command, " "));
  }
  // Linux counts ru_maxrss in KiB.
  return ProcessCost{elapsed.count(), Seconds(usage.ru_utime), Seconds(usage.ru_stime),
                     std::int64_t{usage.ru_maxrss} << 10};
}

absl::Status DropFromCache(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Failed(absl::StrCat("cannot open ", path));
  // The cache lets go of clean pages alone.
  const bool flushed = fsync(file) == 0;
  const int error = posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  close(file);
  if (!flushed) return Failed(absl::StrCat("cannot flush ", path));
  if (error != 0) {
    errno = error;
    return Failed(absl::StrCat("cannot take ", path, " out of the cache"));
  }
  return absl::OkStatus();
}

absl::Status ReadIntoCache(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(1 << 20);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()))) {
  }
  return file.eof() ? absl::OkStatus() : Failed(absl::StrCat("cannot read ", path));
}

absl::Status TouchMemory(const std::string& path, std::int64_t bytes) {
  const int fd = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return Failed(absl::StrCat("cannot make ", path));
  // Reserving alone leaves pages of memory untouched until they are written.
  const std::vector<char> zeros(1 << 20);
  bool written = true;
  for (std::int64_t left = bytes; left > 0 && written;) {
    const ssize_t done = write(fd, zeros.data(), std::min<std::size_t>(left, zeros.size()));
    written = done > 0;
    left -= done;
  }
  const int error = errno;
  close(fd);
  unlink(path.c_str());
  errno = error;
  return written ? absl::OkStatus()
                 : Failed(absl::StrCat("no room for ", bytes, " bytes at ", path));
}

}  // namespace lanewise::benchmarks
