/* Answers CPUID for libraries in which lower_tier.py put UD2 in its place: what the CPU has, less AMX and the
 * arithmetic of 16 bits, with HIDE_AVX512 less AVX-512, and with HIDE_AVX_VNNI less the dot products of AVX.
 *
 *   cc -O2 -shared -fPIC -DHIDE_AVX512=1 -DHIDE_AVX_VNNI=1 -o answer.so answer_cpuid.c
 *   LD_PRELOAD=./answer.so PROGRAM
 *
 * The bits are those of Intel's manual, volume 2A, CPUID, leaf 7. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#define BIT(n) (UINT32_C(1) << (n))

struct Registers {
  uint32_t a, b, c, d;
};

static struct Registers LowerCpu(uint32_t leaf, uint32_t subleaf) {
  struct Registers r;
  __cpuid_count(leaf, subleaf, r.a, r.b, r.c, r.d);
  if (leaf != 7) return r;
  if (subleaf == 0) {
    r.d &= ~(BIT(22) | BIT(23) | BIT(24) | BIT(25)); /* AMX, and AVX512_FP16 */
    if (HIDE_AVX512) {
      r.b &= ~(BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) |
               BIT(31));                                       /* F, DQ, IFMA, ... */
      r.c &= ~(BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14)); /* VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ */
      r.d &= ~(BIT(2) | BIT(3) | BIT(8));                      /* 4VNNIW, 4FMAPS, VP2INTERSECT */
    }
  } else if (subleaf == 1) {
    r.a &= ~(BIT(5) | BIT(21)); /* AVX512_BF16, AMX_FP16 */
    r.d &= ~(BIT(8) | BIT(19)); /* AMX_COMPLEX, AVX10 */
    if (HIDE_AVX_VNNI) {
      r.a &= ~(BIT(4) | BIT(23)); /* AVX_VNNI, AVX_IFMA */
      r.d &= ~(BIT(4) | BIT(10)); /* AVX_VNNI_INT8, AVX_VNNI_INT16 */
    }
  }
  return r;
}

static void Answer(int number, siginfo_t* info, void* context) {
  (void)info;
  greg_t* const registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const uint8_t* const at = (const uint8_t*)registers[REG_RIP];
  if (at[0] != 0x0f || at[1] != 0x0b) { /* It was not UD2: end as without this handler. */
    signal(number, SIG_DFL);
    return;
  }
  const struct Registers r = LowerCpu((uint32_t)registers[REG_RAX], (uint32_t)registers[REG_RCX]);
  registers[REG_RAX] = r.a;
  registers[REG_RBX] = r.b;
  registers[REG_RCX] = r.c;
  registers[REG_RDX] = r.d;
  registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void Install(void) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_sigaction = Answer;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, NULL);
}
