#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "core/error_capture.h"
#include "skiff/log.h"

namespace skiff {
namespace {

using ::testing::StrEq;

TEST(StatusTest, SuccessSaysNothing) { EXPECT_THAT(OkStatus().message().c_str(), StrEq("")); }

TEST(StatusTest, CarriesItsSentence) {
  const ErrorCapture quiet;
  const Status status = Fail(StatusCode::kIo, "cannot open '%s'", "net.skiff");
  const Status other = Fail(StatusCode::kIo, "another");
  const Status copy = status;
  EXPECT_THAT(copy.message().c_str(), StrEq("cannot open 'net.skiff'"));
  EXPECT_THAT(other.message().c_str(), StrEq("another"));
  EXPECT_EQ(status, other) << "of one kind";
}

TEST(StatusTest, ResultsPassItOn) {
  const ErrorCapture quiet;
  const auto fail = []() -> Result<int> { return Fail(StatusCode::kInvalidModel, "no header"); };
  const auto pass_on = [&]() -> Result<float> {
    SKIFF_ASSIGN_OR_RETURN(const int number, fail());
    return static_cast<float>(number);
  };
  EXPECT_THAT(pass_on().status().message().c_str(), StrEq("no header"));
}

TEST(StatusTest, AResultThatIsConstantIsReadLikeAnother) {
  const Result<std::string> name = std::string("net");
  ASSERT_TRUE(name.ok());
  EXPECT_EQ(*name, "net");
  EXPECT_EQ(name->size(), 3u);
}

TEST(StatusTest, ASentenceThatNobodySaidIsTheName) {
  EXPECT_THAT(Status(StatusCode::kCancelled).message().c_str(), StrEq("cancelled"));
}

TEST(StatusTest, TheOldestAreForgotten) {
  const ErrorCapture quiet;
  const Status first = Fail(StatusCode::kIo, "the first");
  std::vector<Status> next;
  for (int i = 0; i < 15; ++i) next.push_back(Fail(StatusCode::kIo, "number %d", i));
  EXPECT_THAT(first.message().c_str(), StrEq("the first"));
  next.push_back(Fail(StatusCode::kIo, "one more"));
  EXPECT_THAT(first.message().c_str(), StrEq("input/output error"));
  EXPECT_THAT(next[0].message().c_str(), StrEq("number 0"));
}

TEST(StatusTest, LongOnesAreCut) {
  const ErrorCapture quiet;
  const std::string sentence(2000, 'x');
  EXPECT_EQ(Fail(StatusCode::kIo, "%s", sentence.c_str()).message().c_str(),
            sentence.substr(0, StatusMessage::kCapacity - 1));
}

TEST(StatusTest, ThreadsFailAtOnce) {
  const auto fail = [](int thread) {
    const ErrorCapture quiet;
    for (int i = 0; i < 1000; ++i) {
      const std::string sentence =
          std::string(static_cast<size_t>(20 + thread), static_cast<char>('a' + thread));
      const std::string got = Fail(StatusCode::kIo, "%s", sentence.c_str()).message().c_str();
      EXPECT_TRUE(got == sentence || got == "input/output error") << got;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(fail, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(StatusTest, ReadsOnAnotherThread) {
  const ErrorCapture quiet;
  Status status;
  std::thread([&] {
    const ErrorCapture there;
    status = Fail(StatusCode::kIo, "said there");
  }).join();
  EXPECT_THAT(status.message().c_str(), StrEq("said there"));
}

}  // namespace
}  // namespace skiff
