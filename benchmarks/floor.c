/* What the kernel charges for reading small files, without a language on top.
 *
 *   floor keep LIST   open every file of LIST once; at each line on standard input read all of
 *                     them by pread from 0 and parse an unsigned number from each; print the CPU
 *                     nanoseconds of that pass, and how many numbers differ from the pass before
 *   floor once LIST   open, read and close every file of LIST; print how many there were
 *   floor lanes LIST  read groups of files for ever, each group with its own period
 *
 * LIST is a file with one path a line. For `lanes` a line "@ PERIOD PHASE WAY FOLDER" begins a
 * group that is read each PERIOD milliseconds, at first after PHASE; 0: at once. WAY is `keep` (descriptors stay open), `open` (opened, read and
 * closed relative to the folder each time), `list` (folders whose names are listed) or `link`
 * (links that are read); names below FOLDER follow. But for the kept ones, what is gone meanwhile,
 * as processes are, is let be.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct group {
	long long period, phase; /* nanoseconds */
	char way;	  /* its first letter */
	const char *folder;
	size_t first, last; /* of paths */
	long long taken;
};

static char *text;
static char **paths;
static size_t count;
static int *descriptors;
static unsigned long long *values;

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
	values = calloc(count, sizeof *values);
	descriptors = malloc(count * sizeof *descriptors);
}

static long long now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int open_or_die(int folder, const char *path)
{
	int descriptor = openat(folder, path, O_RDONLY | O_CLOEXEC);

	if (descriptor < 0) {
		perror(path);
		exit(2);
	}
	return descriptor;
}

static int parse(size_t i, int descriptor)
{
	char buffer[4097];
	ssize_t length = pread(descriptor, buffer, sizeof buffer - 1, 0);
	unsigned long long value, before = values[i];

	if (length < 0 && errno != ESRCH && errno != EINVAL) { /* process ended, link down */
		perror(paths[i]);
		exit(2);
	}
	length = length < 0 ? 0 : length;
	buffer[length] = 0;
	value = strtoull(buffer, NULL, 10);
	values[i] = value;
	return value != before;
}

static size_t pass(size_t first, size_t last)
{
	size_t changed = 0;

	for (size_t i = first; i < last; i++)
		changed += parse(i, descriptors[i]);
	return changed;
}

static void keep(void)
{
	char line[16];

	for (size_t i = 0; i < count; i++)
		descriptors[i] = open_or_die(AT_FDCWD, paths[i]);
	pass(0, count);
	while (fgets(line, sizeof line, stdin)) {
		long long begin = now(CLOCK_PROCESS_CPUTIME_ID);
		size_t changed = pass(0, count);

		printf("%lld %zu\n", now(CLOCK_PROCESS_CPUTIME_ID) - begin, changed);
		fflush(stdout);
	}
}

static void once(void)
{
	char buffer[4097];

	for (size_t i = 0; i < count; i++) {
		int descriptor = open_or_die(AT_FDCWD, paths[i]);

		if (read(descriptor, buffer, sizeof buffer) < 0) {
			perror(paths[i]);
			exit(2);
		}
		close(descriptor);
	}
	printf("%zu\n", count);
}

static void list(int folder, const char *name)
{
	int descriptor = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names = descriptor < 0 ? NULL : fdopendir(descriptor);

	if (!names)
		return;
	while (readdir(names))
		;
	closedir(names);
}

static void read_one(char way, int folder, size_t i)
{
	char target[4097];
	int descriptor;

	if (way == 'l') {
		list(folder, paths[i]);
	} else if (way == 'r') {
		values[i] += readlinkat(folder, paths[i], target, sizeof target) > 0;
	} else {
		descriptor = openat(folder, paths[i], O_RDONLY | O_CLOEXEC);
		if (descriptor < 0)
			return;
		parse(i, descriptor);
		close(descriptor);
	}
}

static void read_group(struct group *group)
{
	int folder;

	if (group->way == 'k') {
		pass(group->first, group->last);
		return;
	}
	folder = open(group->folder, O_RDONLY | O_CLOEXEC);
	if (folder < 0)
		return;
	for (size_t i = group->first; i < group->last; i++)
		read_one(group->way, folder, i);
	close(folder);
}

static size_t find_groups(struct group *groups)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		char way[5], *folder;
		long period, phase;
		int folder_at;

		if (paths[i][0] != '@')
			continue;
		if (sscanf(paths[i], "@ %ld %ld %4s %n", &period, &phase, way, &folder_at) != 3)
			exit(2);
		folder = paths[i] + folder_at;
		if (found)
			groups[found - 1].last = i;
		/* `list` and `link` begin alike */
		groups[found++] = (struct group){ period * 1000000LL, phase * 1000000LL,
						  strcmp(way, "link") ? way[0] : 'r',
						  folder, i + 1, count, -1 };
	}
	for (size_t g = 0; g < found; g++) {
		int folder;

		if (groups[g].way != 'k')
			continue;
		folder = open_or_die(AT_FDCWD, groups[g].folder);
		for (size_t i = groups[g].first; i < groups[g].last; i++)
			descriptors[i] = open_or_die(folder, paths[i]);
		close(folder);
	}
	return found;
}

static void lanes(void)
{
	struct group *groups = calloc(count, sizeof *groups);
	size_t found = find_groups(groups);
	long long begin = now(CLOCK_MONOTONIC);

	for (;;) {
		long long elapsed = now(CLOCK_MONOTONIC) - begin, next = begin + (1LL << 62);
		struct timespec until;

		for (size_t g = 0; g < found; g++) {
			long long phase = groups[g].phase, period = groups[g].period;
			long long point = elapsed < phase ? -1 : (elapsed - phase) / period;

			if (point > groups[g].taken) {
				read_group(&groups[g]);
				groups[g].taken = point;
			}
			point = begin + phase + (point + 1) * period;
			next = point < next ? point : next;
		}
		until = (struct timespec){ next / 1000000000LL, next % 1000000000LL };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 64;
	load(argv[2]);
	if (!strcmp(argv[1], "keep"))
		keep();
	else if (!strcmp(argv[1], "lanes"))
		lanes();
	else
		once();
	return 0;
}
