// Processes that a real mpirun starts at once share one preparation, and write together what a
// single one does.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"
#include "tests/tools/command.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;

// Runs `mpirun -n PROCESSES sh -c SCRIPT`; its exit status, and what all of them said.
Ran RunMpi(int processes, const std::string& script, const std::string& said) {
  const std::string count = std::to_string(processes);
  const char* const argv[] = {std::getenv("LANEWISE_MPIRUN"), "--oversubscribe",
                              // More processes than processors, so none is bound to one.
                              "--bind-to", "none", "-n", count.c_str(), "sh", "-c", script.c_str(),
                              nullptr};
  const pid_t child = fork();
  if (child == 0) {
    // A container's build runs as root.
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    // One machine: nothing is started elsewhere, and nothing listens to the network.
    setenv("OMPI_MCA_plm_rsh_agent", "false", 1);
    setenv("OMPI_MCA_oob_tcp_if_include", "lo", 1);
    // Its sockets' paths have to be short.
    setenv("TMPDIR", "/tmp", 1);
    const int out = open(said.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv(argv[0], const_cast<char**>(argv));
    _exit(127);
  }
  int status = 0;
  Ran ran;
  ran.command = "mpirun -n " + count + " sh -c '" + script + "'";
  if (child < 0 || waitpid(child, &status, 0) != child) return ran;
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = ReadAll(said);
  return ran;
}

void ExpectSameTrees(const std::string& expected, const std::string& found) {
  ASSERT_EQ(Tree(found), Tree(expected));
  for (const std::string& path : Tree(expected)) {
    if (path.ends_with('/')) continue;
    EXPECT_TRUE(ReadAll(expected + "/" + path) == ReadAll(found + "/" + path)) << path;
  }
}

class MpiTest : public testing::Test {
 protected:
  // Some ten files, whose experts are fused across them.
  void SetUp() override {
    std::vector<std::string> arguments = {"synthesize", "--model", "deepseek-v4.1-flash", in_,
                                          "--layers",   "2",       "--experts",           "16"};
    for (const char* size : {"vocab=64", "hidden=256", "inter=128", "heads=8", "groups=1",
                             "o_rank=128", "q_rank=128", "index_heads=4"}) {
      arguments.insert(arguments.end(), {"--size", size});
    }
    arguments.insert(arguments.end(), {"--shard-size", "600KB"});
    const Ran made = RunLanewise(arguments);
    ASSERT_EQ(made.status, 0) << Text(made);
    ASSERT_GE(Tree(in_).size(), 8u);
  }

  std::vector<std::string> Prepare(const std::string& out) const {
    return {"prepare", in_, out, "--target", "gfx942", "--lossless"};
  }

  // The same as a shell's words, with this process's share.
  std::string Share(const std::string& out, const std::string& more) const {
    std::string script = "exec " + fs::absolute("tools/lanewise").string();
    for (const std::string& argument : Prepare(out)) script += " " + argument;
    return script + " --shard $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE " + more;
  }

  const TestDirectory directory_;
  const std::string in_ = directory_.File("model"), single_ = directory_.File("single"),
                    out_ = directory_.File("shared");
};

TEST_F(MpiTest, FourProcessesWriteWhatOneDoes) {
  const Ran whole = RunLanewise(Prepare(single_));
  ASSERT_EQ(whole.status, 0) << Text(whole);
  const Ran shared = RunMpi(4, Share(out_, ""), directory_.File("said"));
  ASSERT_EQ(shared.status, 0) << Text(shared);
  ExpectSameTrees(single_, out_);
  const Ran verified = RunLanewise({"verify", out_, "--against", in_});
  EXPECT_EQ(verified.status, 0) << Text(verified);
}

TEST_F(MpiTest, RanksOfTensorParallelismAreSharedToo) {
  std::vector<std::string> arguments = Prepare(single_);
  arguments.insert(arguments.end(), {"--tp", "2"});
  const Ran whole = RunLanewise(arguments);
  ASSERT_EQ(whole.status, 0) << Text(whole);
  const Ran shared = RunMpi(4, Share(out_, "--tp 2"), directory_.File("said"));
  ASSERT_EQ(shared.status, 0) << Text(shared);
  ExpectSameTrees(single_, out_);
}

// One of the processes is missing, and the job is started again: it makes what is left.
TEST_F(MpiTest, ASecondJobGoesOn) {
  const Ran whole = RunLanewise(Prepare(single_));
  ASSERT_EQ(whole.status, 0) << Text(whole);
  const Ran first = RunMpi(4, "[ $OMPI_COMM_WORLD_RANK != 2 ] || exit 0; " + Share(out_, ""),
                           directory_.File("said"));
  ASSERT_EQ(first.status, 0) << Text(first);
  ASSERT_LT(Tree(out_).size(), Tree(single_).size());
  // With another number of processes, so that files are another's than in the first job.
  const Ran second = RunMpi(3, Share(out_, "--resume"), directory_.File("said"));
  ASSERT_EQ(second.status, 0) << Text(second);
  ExpectSameTrees(single_, out_);
}

// Many more than files: some have nothing to do, which is no failure, and many write the index.
TEST_F(MpiTest, MoreProcessesThanFiles) {
  const Ran whole = RunLanewise(Prepare(single_));
  ASSERT_EQ(whole.status, 0) << Text(whole);
  const Ran shared = RunMpi(24, Share(out_, "--threads 1"), directory_.File("said"));
  ASSERT_EQ(shared.status, 0) << Text(shared);
  ExpectSameTrees(single_, out_);
}

}  // namespace
}  // namespace lanewise
