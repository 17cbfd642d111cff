/* What the kernel charges for reading small files, without a language on top.
 *
 *   floor keep LIST   open every file of LIST once; at each line on standard input read all of
 *                     them by pread from 0 and parse an unsigned number from each; print the CPU
 *                     nanoseconds of that pass, and how many numbers differ from the pass before
 *   floor once LIST   open, read and close every file of LIST; print how many there were
 *
 * LIST is a file with one path a line.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char *text;
static char **paths;
static size_t count;

static void load(const char *list)
{
	int descriptor = open(list, O_RDONLY | O_CLOEXEC);
	off_t size = lseek(descriptor, 0, SEEK_END);
	size_t room = 0;

	text = malloc((size_t)size + 1);
	if (descriptor < 0 || !text || pread(descriptor, text, (size_t)size, 0) != size)
		exit(2);
	text[size] = 0;
	close(descriptor);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (count == room) {
			room = room ? 2 * room : 1024;
			paths = realloc(paths, room * sizeof *paths);
		}
		paths[count++] = line;
	}
}

static long long cpu(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int open_or_die(const char *path)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);

	if (descriptor < 0) {
		perror(path);
		exit(2);
	}
	return descriptor;
}

static size_t pass(const int *descriptors, unsigned long long *values)
{
	size_t changed = 0;
	char buffer[65];

	for (size_t i = 0; i < count; i++) {
		ssize_t length = pread(descriptors[i], buffer, 64, 0);
		unsigned long long value;

		if (length < 0) {
			perror(paths[i]);
			exit(2);
		}
		buffer[length] = 0;
		value = strtoull(buffer, NULL, 10);
		changed += value != values[i];
		values[i] = value;
	}
	return changed;
}

static void keep(void)
{
	unsigned long long *values = calloc(count, sizeof *values);
	int *descriptors = malloc(count * sizeof *descriptors);
	char line[16];

	for (size_t i = 0; i < count; i++)
		descriptors[i] = open_or_die(paths[i]);
	pass(descriptors, values);
	while (fgets(line, sizeof line, stdin)) {
		long long begin = cpu();
		size_t changed = pass(descriptors, values);

		printf("%lld %zu\n", cpu() - begin, changed);
		fflush(stdout);
	}
}

static void once(void)
{
	char buffer[4097];

	for (size_t i = 0; i < count; i++) {
		int descriptor = open_or_die(paths[i]);

		if (read(descriptor, buffer, sizeof buffer) < 0) {
			perror(paths[i]);
			exit(2);
		}
		close(descriptor);
	}
	printf("%zu\n", count);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 64;
	load(argv[2]);
	if (!strcmp(argv[1], "keep"))
		keep();
	else
		once();
	return 0;
}
