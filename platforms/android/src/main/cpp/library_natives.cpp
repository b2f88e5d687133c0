// JNI_OnLoad, and what belongs to no object.
#include "natives.h"
#include "support.h"

namespace skiff::jni {
namespace {

constexpr jint kVersion = JNI_VERSION_1_6;

JavaVM* machine = nullptr;
jclass native = nullptr;  // A global reference.
jmethodID log_method = nullptr;

/// A thread's environment, also where Java does not know the thread yet.
class AttachedEnv {
 public:
  AttachedEnv() {
    if (machine->GetEnv(reinterpret_cast<void**>(&env_), kVersion) == JNI_OK) return;
    attached_ = Attach(&JavaVM::AttachCurrentThread) == JNI_OK;
    if (!attached_) env_ = nullptr;
  }
  ~AttachedEnv() {
    if (attached_) machine->DetachCurrentThread();
  }
  AttachedEnv(const AttachedEnv&) = delete;
  AttachedEnv& operator=(const AttachedEnv&) = delete;
  /// Null where there is no memory for it.
  JNIEnv* get() const { return env_; }

 private:
  /// JNI takes a void** on the desktop, and a JNIEnv** on Android.
  template <class Env>
  jint Attach(jint (JavaVM::*attach)(Env**, void*)) {
    return (machine->*attach)(reinterpret_cast<Env**>(&env_), nullptr);
  }

  JNIEnv* env_ = nullptr;
  bool attached_ = false;
};

void LogToJava(void*, int32_t level, const char* message) {
  const AttachedEnv attached;
  JNIEnv* const env = attached.get();
  if (env == nullptr) return;
  const jbyteArray bytes = ToBytes(env, message);
  if (bytes != nullptr) env->CallStaticVoidMethod(native, log_method, static_cast<jint>(level), bytes);
  if (env->ExceptionCheck()) env->ExceptionClear();
  env->DeleteLocalRef(bytes);
}

void ForwardLog(JNIEnv*, jclass, jboolean to_java) {
  skiff_set_log_sink(to_java == JNI_TRUE ? &LogToJava : nullptr, nullptr);
}

jbyteArray Version(JNIEnv* env, jclass) { return ToBytes(env, skiff_version_string()); }

jbyteArray StatusName(JNIEnv* env, jclass, jint status) {
  return ToBytes(env, skiff_status_name(static_cast<SkiffStatus>(status)));
}

jbyteArray DTypeName(JNIEnv* env, jclass, jint dtype) { return ToBytes(env, skiff_dtype_name(dtype)); }

jint DTypeSize(JNIEnv*, jclass, jint dtype) { return static_cast<jint>(skiff_dtype_size(dtype)); }

jlong Address(JNIEnv* env, jclass, jobject direct) { return ToHandle(env->GetDirectBufferAddress(direct)); }

bool Register(JNIEnv* env) {
  const jclass found = env->FindClass("io/skiff/Native");
  if (found == nullptr) return false;
  native = static_cast<jclass>(env->NewGlobalRef(found));
  env->DeleteLocalRef(found);
  if (native == nullptr) return false;
  log_method = env->GetStaticMethodID(native, "log", "(I[B)V");
  if (log_method == nullptr) return false;
  for (const Natives& natives : {ImageNatives(), LibraryNatives(), ModelNatives(), SessionNatives()}) {
    if (env->RegisterNatives(native, natives.methods, natives.count) != JNI_OK) return false;
  }
  return LoadException(env);
}

}  // namespace

Natives LibraryNatives() {
  static const JNINativeMethod kMethods[] = {
      Native("forwardLog", "(Z)V", &ForwardLog),  Native("version", "()[B", &Version),
      Native("statusName", "(I)[B", &StatusName), Native("dtypeName", "(I)[B", &DTypeName),
      Native("dtypeSize", "(I)I", &DTypeSize),    Native("address", "(Ljava/nio/ByteBuffer;)J", &Address),
  };
  return {kMethods, sizeof(kMethods) / sizeof(kMethods[0])};
}

}  // namespace skiff::jni

extern "C" JNIEXPORT jint JNI_OnLoad(JavaVM* machine, void*) {
  JNIEnv* env = nullptr;
  skiff::jni::machine = machine;
  if (machine->GetEnv(reinterpret_cast<void**>(&env), skiff::jni::kVersion) != JNI_OK) return JNI_ERR;
  return skiff::jni::Register(env) ? skiff::jni::kVersion : JNI_ERR;
}

extern "C" JNIEXPORT void JNI_OnUnload(JavaVM* machine, void*) {
  JNIEnv* env = nullptr;
  if (machine->GetEnv(reinterpret_cast<void**>(&env), skiff::jni::kVersion) != JNI_OK) return;
  skiff_set_log_sink(nullptr, nullptr);
  env->DeleteGlobalRef(skiff::jni::native);
  skiff::jni::UnloadException(env);
}
