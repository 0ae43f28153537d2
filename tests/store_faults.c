/* Makes chosen system calls fail, for tests: preloaded, and armed through ctypes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/types.h>

static long sync_left = -1, write_left = -1, rename_left = -1;
static int code = EIO;

void arm(long syncs, long writes, long renames, int error) {
    sync_left = syncs; write_left = writes; rename_left = renames; code = error;
}

static int fails(long *left) {
    if (*left < 0) return 0;
    if ((*left)-- > 0) return 0;
    *left = 0; /* and every later call */
    errno = code;
    return 1;
}

int fdatasync(int file) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
    return fails(&sync_left) ? -1 : real(file);
}

int fsync(int file) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    return fails(&sync_left) ? -1 : real(file);
}

ssize_t pwrite64(int file, const void *content, size_t size, off64_t at) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
    return fails(&write_left) ? -1 : real(file, content, size, at);
}

ssize_t pwrite(int file, const void *content, size_t size, off_t at) {
    return pwrite64(file, content, size, at);
}

int rename(const char *from, const char *to) {
    static int (*real)(const char *, const char *);
    if (!real) real = dlsym(RTLD_NEXT, "rename");
    return fails(&rename_left) ? -1 : real(from, to);
}
