/* A plugin of qemu-user that counts executed instructions by function, for instructions.py:
 *
 *   cc -O2 -shared -fPIC -o count.so count_instructions.c
 *   qemu-aarch64 -plugin ./count.so,to=counts.txt PROGRAM
 *
 * Written are lines of a count and the function's name as the program's symbol table has it; "?" is code of
 * shared libraries. Exact, and the same in each run, for programs of one thread. Debian ships no
 * qemu-plugin.h, so what is needed of version 1 of the interface (qemu 7) is declared here. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* block, size_t index);
const char* qemu_plugin_insn_symbol(const struct qemu_plugin_insn* instruction);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*callback)(qemu_plugin_id_t, struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, enum qemu_plugin_op op,
                                              void* counter, uint64_t add);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void*),
                                    void* user);

#define SHOWN __attribute__((visibility("default")))
SHOWN int qemu_plugin_version = 1;

/* qemu keeps symbol names at one address as long as it runs, so that the address stands for the name. */
struct function {
  const char* name;
  uint64_t count;
  struct function* next;
};
enum { kChains = 4096 };
static struct function* chains[kChains];

static struct function* find(const char* name) {
  struct function** chain = &chains[((uintptr_t)name >> 3) % kChains];
  for (struct function* function = *chain; function != NULL; function = function->next)
    if (function->name == name) return function;
  struct function* function = calloc(1, sizeof(*function));
  if (function == NULL) abort();
  function->name = name;
  function->next = *chain;
  return *chain = function;
}

/* A translated block has one entry and leaves at its end: all of it runs, or none. */
static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  const char* name = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(block, 0));
  struct function* function = find(name != NULL && *name != '\0' ? name : "?");
  qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &function->count,
                                           qemu_plugin_tb_n_insns(block));
  (void)id;
}

static void on_exit_of_program(qemu_plugin_id_t id, void* path) {
  FILE* file = fopen(path, "w");
  if (file == NULL) {
    perror(path);
    abort();
  }
  for (size_t i = 0; i < kChains; ++i)
    for (const struct function* function = chains[i]; function != NULL; function = function->next)
      fprintf(file, "%llu %s\n", (unsigned long long)function->count, function->name);
  fclose(file);
  (void)id;
}

SHOWN int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int count, char** arguments) {
  static const char kFile[] = "to=";
  if (count != 1 || strncmp(arguments[0], kFile, sizeof(kFile) - 1) != 0) {
    fprintf(stderr, "count_instructions: expected one argument, to=PATH\n");
    return -1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_exit_of_program, strdup(arguments[0] + sizeof(kFile) - 1));
  (void)info;
  return 0;
}
