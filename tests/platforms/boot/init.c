/* The first and only process of the machine that platforms/boot_test boots: mounts what every system has,
   makes the root read-only, runs the commands on the kernel's command line (behind --, separated by ;) and
   switches the machine off. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void Report(const char* what, int failed) {
  printf("init: %s: %s\n", what, failed ? strerror(errno) : "done");
}

static void MakeRootReadOnly(void) {
  Report("root read-only", mount("", "/", "", MS_REMOUNT | MS_RDONLY, "") != 0);
  if (open("/probe", O_WRONLY | O_CREAT, 0600) >= 0 || errno != EROFS)
    printf("init: the root can be WRITTEN\n");
}

static void Run(char** command) {
  struct rusage usage;
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    execv(command[0], command);
    _exit(127);
  }
  wait4(child, &status, 0, &usage);
  printf("init: %s ended with %d, at most %ld KiB resident\n", command[0],
         WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), usage.ru_maxrss);
}

static void PrintMemory(void) {
  char line[128];
  FILE* file = fopen("/proc/meminfo", "r");
  if (file != NULL && fgets(line, sizeof(line), file) != NULL) printf("init: %s", line);
  if (file != NULL) fclose(file);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IONBF, 0);
  mkdir("/proc", 0555);
  mkdir("/sys", 0555);
  Report("/proc", mount("proc", "/proc", "proc", MS_RDONLY, "") != 0);
  Report("/sys", mount("sysfs", "/sys", "sysfs", MS_RDONLY, "") != 0);
  MakeRootReadOnly();
  PrintMemory();
  for (int begin = 1, i = 1; i <= argc; ++i) {
    if (i < argc && strcmp(argv[i], ";") != 0) continue;
    argv[i] = NULL;
    if (i > begin) Run(argv + begin);
    begin = i + 1;
  }
  return reboot(RB_POWER_OFF);
}
