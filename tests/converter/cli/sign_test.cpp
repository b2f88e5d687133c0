// Signatures: what `skiff sign` makes, skiff/signature.h and `skiff verify` believe, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "cli/secret_key.h"
#include "core/error_capture.h"
#include "graph/error.h"
#include "skiff/signature.h"
#include "tests/converter/cli/run_tool.h"
#include "tests/support/temp_folder.h"

namespace skiff::testing {
namespace {

using cli::SecretKey;
using ::testing::HasSubstr;

constexpr const char* kGolden = SKIFF_SOURCE_DIR "/tests/format/golden/format_1.skiff";

/// Made by minisign 0.11, of a key that `skiff sign --new-key` made.
constexpr const char* kOfMinisign = R"(untrusted comment: signature from minisign secret key
RUTR5vpCKsBw/a/RLeGGhQdrGysY8v7HssI0iqMFCX4Pzige/7JSTZqZrNB+PI74o6WUekRUyfzrjwJi56aqdL8Yrh2JQxdqqAY=
trusted comment: by minisign 0.11
kBSOOQtr21NJ8UlXsVcm2TwFd55lnSOHOegjLKa3Vob0Ba1zaxDoUyw6/wYnNsxRqGJ9vkrK/w6ANXYbGsV2Ag==
)";
constexpr const char* kItsKey = "RWTR5vpCKsBw/Y2ro8GNsexJ4JYjfxiBmjjgK8DnFTkAfjXwFpNZIGle";
constexpr const char* kSigned = "what was signed\n";

/// "" where the signature is believed, else why it is not.
std::string Verify(const std::string& bytes, const std::string& signature, const std::string& public_key) {
  const ErrorCapture capture;
  Result<PublicKey> key = ParsePublicKey(public_key.c_str());
  if (!key.ok()) return capture.message();
  const Status status = VerifySignature({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                                        {signature.data(), signature.size()}, *key);
  return status.ok() ? "" : capture.message();
}

class Signed : public ::testing::Test {
 protected:
  const SecretKey key_;
  const std::string line_ = key_.PublicLine();
  const std::string bytes_ = ReadWhole(kGolden).substr(0, 700);
  const std::string signature_ = key_.Sign(bytes_, "file:net.skiff");
};

TEST_F(Signed, IsBelieved) {
  EXPECT_EQ(Verify(bytes_, signature_, line_), "");
  EXPECT_EQ(Verify(bytes_, signature_, "untrusted comment: mine\n" + line_ + "\n"), "");
  EXPECT_EQ(Verify("", key_.Sign("", ""), line_), "");
  EXPECT_EQ(key_.Sign(bytes_, "file:net.skiff"), signature_) << "signing is reproducible";
}

TEST_F(Signed, EveryByteOfTheFileCounts) {
  for (size_t at = 0; at < bytes_.size(); ++at) {
    std::string changed = bytes_;
    changed[at] = static_cast<char>(changed[at] ^ 1 << at % 8);
    ASSERT_THAT(Verify(changed, signature_, line_), HasSubstr("is not what was signed")) << at;
  }
  EXPECT_THAT(Verify(bytes_ + '\0', signature_, line_), HasSubstr("is not what was signed"));
  for (size_t size = 0; size < bytes_.size(); size += 7)
    ASSERT_NE(Verify(bytes_.substr(0, size), signature_, line_), "") << size;
}

TEST_F(Signed, EveryByteOfTheSignatureCountsButTheUntrustedComment) {
  const size_t untrusted = sizeof("untrusted comment: ") - 1;
  const size_t first_line = signature_.find('\n');
  for (size_t at = 0; at < signature_.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = signature_;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      const bool comment = at >= untrusted && at < first_line && changed[at] != '\n';
      ASSERT_EQ(Verify(bytes_, changed, line_).empty(), comment) << at << " bit " << bit;
    }
  }
  for (size_t size = 0; size + 1 < signature_.size(); ++size)
    ASSERT_NE(Verify(bytes_, signature_.substr(0, size), line_), "") << size;
  EXPECT_THAT(Verify(bytes_, signature_ + "more", line_), HasSubstr("damaged or cut off"));
  EXPECT_THAT(Verify(bytes_, signature_ + std::string(64 << 10, '\n'), line_),
              HasSubstr("at most 65536 are read"));
}

TEST_F(Signed, AnotherKeyIsNotBelieved) {
  const SecretKey other;
  EXPECT_THAT(Verify(bytes_, signature_, other.PublicLine()), HasSubstr("by another key"));
  // One that pretends to be this one, by its id.
  PublicKey pretended = ParsePublicKey(other.PublicLine().c_str()).value();
  const Result<PublicKey> right = ParsePublicKey(line_.c_str());
  std::copy(std::begin(right.value().id), std::end(right.value().id), pretended.id);
  const ErrorCapture capture;
  EXPECT_EQ(VerifySignature({reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()},
                            {signature_.data(), signature_.size()}, pretended)
                .code(),
            StatusCode::kInvalidModel);
}

TEST_F(Signed, WhatIsNoKeyIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("RW"), line_.substr(1), line_ + "A", line_ + "\n" + line_,
        "RX" + line_.substr(2), "untrusted comment: " + line_})
    EXPECT_THAT(Verify(bytes_, signature_, text), HasSubstr("public key is none")) << text;
}

TEST(Minisign, ItsSignaturesAreBelieved) {
  EXPECT_EQ(Verify(kSigned, kOfMinisign, kItsKey), "");
  EXPECT_THAT(Verify("what was forged\n", kOfMinisign, kItsKey), HasSubstr("is not what was signed"));
}

TEST(SecretKeys, AreReadAsTheyWereWritten) {
  const TempFolder folder;
  const SecretKey made;
  const SecretKey read(folder.Write("it.key", made.SecretText()));
  EXPECT_EQ(read.PublicLine(), made.PublicLine());
  std::string text = made.SecretText();
  const size_t inside = text.size() - 60;
  text[inside] = text[inside] == 'A' ? 'B' : 'A';
  EXPECT_THROW(SecretKey(folder.Write("damaged.key", text)), Error);
  EXPECT_THROW(SecretKey(folder.Write("empty.key", "")), Error);
  EXPECT_THROW(SecretKey(folder.Write("cut.key", made.SecretText().substr(0, 100))), Error);
}

class SignTool : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.Write("net.skiff", ReadWhole(kGolden));
    ASSERT_EQ(RunSkiff({"sign", "--new-key", folder_ / "it"}).exit_code, 0);
    ASSERT_EQ(RunSkiff({"sign", model_, "--key", folder_ / "it.key"}).exit_code, 0);
  }
  RunResult Verify() { return RunSkiff({"verify", model_, "--public-key", folder_ / "it.pub"}); }

  const TempFolder folder_;
  const std::string model_ = folder_ / "net.skiff";
};

TEST_F(SignTool, SignsAndVerifies) {
  EXPECT_EQ(Verify().exit_code, 0) << Verify().error;
  EXPECT_EQ(ReadWhole(model_), ReadWhole(kGolden)) << "the model stays as it is";
  struct stat secret = {};
  ASSERT_EQ(stat((folder_ / "it.key").c_str(), &secret), 0);
  EXPECT_EQ(secret.st_mode & 0777, 0600u);
}

/// The signature's comment is one line.
TEST_F(SignTool, AnyNameOfAFile) {
  const std::string model = folder_.Write("a\nb\x1b.skiff", ReadWhole(kGolden));
  ASSERT_EQ(RunSkiff({"sign", model, "--key", folder_ / "it.key"}).exit_code, 0);
  EXPECT_THAT(ReadWhole(model + ".minisig"), HasSubstr("file:a\\x0ab\\x1b.skiff\n"));
  const RunResult verified = RunSkiff({"verify", model, "--public-key", folder_ / "it.pub"});
  EXPECT_EQ(verified.exit_code, 0) << verified.error;
  EXPECT_EQ(verified.output.find('\x1b'), std::string::npos);
}

TEST_F(SignTool, LongWordsAreNoPaths) {
  const std::string word(300, 'k');
  EXPECT_EQ(RunSkiff({"sign", "--new-key", folder_ / word}).exit_code, 1);
  const RunResult result = RunSkiff({"verify", model_, "--public-key", word});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.error, HasSubstr("--public-key"));
}

/// Keys are small, and a device may have no end.
TEST_F(SignTool, RefusesWhatIsTooLongForAKey) {
  const std::string large = folder_.Write("large", std::string((64 << 10) + 1, 'R'));
  for (const auto& [file, why] : {std::pair<std::string, const char*>("/dev/zero", "/dev/zero: is a device"),
                                  {large, "large: has more than 65536 bytes"}}) {
    const RunResult verified = RunSkiff({"verify", model_, "--public-key", file});
    EXPECT_EQ(verified.exit_code, 1);
    EXPECT_THAT(verified.error, HasSubstr(why));
    const RunResult made = RunSkiff({"sign", model_, "--key", file});
    EXPECT_EQ(made.exit_code, 1);
    EXPECT_THAT(made.error, HasSubstr(why));
  }
}

TEST_F(SignTool, RefusesWhatIsNotSigned) {
  std::string bytes = ReadWhole(model_);
  bytes[bytes.size() / 2] ^= 1;
  folder_.Write("net.skiff", bytes);
  RunResult result = Verify();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.error, HasSubstr("is not what was signed"));
  folder_.Write("net.skiff.minisig", "");
  EXPECT_EQ(Verify().exit_code, 1);
  ASSERT_EQ(unlink((folder_ / "net.skiff.minisig").c_str()), 0);
  result = Verify();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.error, HasSubstr("net.skiff.minisig"));
}

TEST_F(SignTool, NeverReplacesAKeyNorSignsWhatDoesNotOpen) {
  const std::string before = ReadWhole(folder_ / "it.key");
  EXPECT_EQ(RunSkiff({"sign", "--new-key", folder_ / "it"}).exit_code, 1);
  EXPECT_EQ(ReadWhole(folder_ / "it.key"), before);
  folder_.Write("no.skiff", "no model");
  EXPECT_EQ(RunSkiff({"sign", folder_ / "no.skiff", "--key", folder_ / "it.key"}).exit_code, 1);
  EXPECT_EQ(folder_.List().count("no.skiff.minisig"), 0u);
  EXPECT_EQ(RunSkiff({"sign", model_}).exit_code, 2);
  EXPECT_EQ(RunSkiff({"sign"}).exit_code, 2);
  EXPECT_EQ(RunSkiff({"sign", "--new-key", folder_ / "new", "--key", folder_ / "it.key"}).exit_code, 2);
  EXPECT_EQ(folder_.List().count("new.key"), 0u);
}

TEST_F(SignTool, NeverWritesOverWhatItReads) {
  const std::string secret = ReadWhole(folder_ / "it.key");
  for (const std::string& file : {folder_ / "it.key", model_}) {
    const RunResult result = RunSkiff({"sign", model_, "--key", folder_ / "it.key", "-o", file});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.error, HasSubstr(file + ": would overwrite the "));
  }
  EXPECT_EQ(ReadWhole(folder_ / "it.key"), secret);
  EXPECT_EQ(ReadWhole(model_), ReadWhole(kGolden));
  // An older signature is what a new one is to replace.
  EXPECT_EQ(RunSkiff({"sign", model_, "--key", folder_ / "it.key"}).exit_code, 0);
}

}  // namespace
}  // namespace skiff::testing
