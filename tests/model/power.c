/* Loaded into git-sandbox: notes in $TORTURE_SYNCS which files were written and which were synced, so
   that a power loss can be played: what was written and never synced is lost. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static void note(const char *format, ...)
{
	static int log = -1;
	char line[8300];
	va_list words;
	const char *path = getenv("TORTURE_SYNCS");

	/* The gits that it starts answer for themselves. */
	if (!path || strcmp(program_invocation_short_name, "git-sandbox"))
		return;
	if (log < 0)
		log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	va_start(words, format);
	vsnprintf(line, sizeof(line), format, words);
	va_end(words);
	(void)!((ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write"))(log, line, strlen(line));
}

static void note_file(const char *what, int fd)
{
	struct stat stat;

	if (!fstat(fd, &stat) && (S_ISREG(stat.st_mode) || S_ISDIR(stat.st_mode)))
		note("%s %lu\n", what, (unsigned long)stat.st_ino);
}

ssize_t write(int fd, const void *bytes, size_t count)
{
	int saved;
	ssize_t done = ((ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write"))(fd, bytes, count);

	saved = errno;
	if (fd > 2)
		note_file("written", fd);
	errno = saved;
	return done;
}

static int synced(const char *name, int fd)
{
	int saved, failed = ((int (*)(int))dlsym(RTLD_NEXT, name))(fd);

	saved = errno;
	if (!failed)
		note_file("synced", fd);
	errno = saved;
	return failed;
}

int fsync(int fd)
{
	return synced("fsync", fd);
}

int fdatasync(int fd)
{
	return synced("fdatasync", fd);
}

/* A new name lasts once its folder is synced. */
int rename(const char *old, const char *new)
{
	struct stat stat;
	char folder[4096];
	int saved, there = !lstat(new, &stat);
	int failed = ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(old, new);

	saved = errno;
	snprintf(folder, sizeof(folder), "%s", new);
	if (!failed && !there && !lstat(dirname(folder), &stat))
		note("named %lu\t%s\t%s\n", (unsigned long)stat.st_ino, old, new);
	errno = saved;
	return failed;
}
