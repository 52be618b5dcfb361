/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A FUSE file system with one file, named `file`. Its server implements the protocol of
 * linux/fuse.h directly; LOOKUP, GETATTR, OPEN, READ and WRITE are all that it needs. A test
 * decides when calls are answered, or that they never are.
 */
#ifndef KL_TESTS_FUSE_H
#define KL_TESTS_FUSE_H

#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "kl.h"

#define FUSE_FILE_NODE 2
#define FUSE_FILE_BYTES (1u << 20)
#define FUSE_NEVER 1

/*
 * Decides how to answer the @number-th call: 0, -errno, or FUSE_NEVER for no answer. May sleep
 * before it returns.
 */
typedef int (*fuse_decide)(u32 opcode, u32 number);

static inline void fuse_reply(int fd, u64 unique, int error, const void *answer, u32 bytes)
{
	static u8 message[FUSE_FILE_BYTES + 4096];
	struct fuse_out_header head = { .unique = unique, .error = error };

	head.len = sizeof(head) + (error ? 0 : bytes);
	memcpy(message, &head, sizeof(head));
	if (!error && bytes)
		memcpy(message + sizeof(head), answer, bytes);
	/* The caller may have been killed in the meantime. */
	if (write(fd, message, head.len) < 0)
		return;
}

static inline struct fuse_attr fuse_attributes(u64 node)
{
	return (struct fuse_attr){ .ino = node,
				   .size = node == FUSE_FILE_NODE ? FUSE_FILE_BYTES : 0,
				   .mode = node == FUSE_FILE_NODE ? S_IFREG | 0666 : S_IFDIR | 0755,
				   .nlink = 1,
				   .blksize = 4096 };
}

static inline void fuse_answer_read(int fd, const struct fuse_in_header *head,
				    const struct fuse_read_in *in, const u8 *content)
{
	u32 bytes = in->size;

	if (in->offset >= FUSE_FILE_BYTES)
		bytes = 0;
	else if (bytes > FUSE_FILE_BYTES - in->offset)
		bytes = FUSE_FILE_BYTES - in->offset;
	fuse_reply(fd, head->unique, 0, content + in->offset, bytes);
}

static inline void fuse_answer_init(int fd, const struct fuse_in_header *head,
				    const struct fuse_init_in *in)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_readahead = 4096,
				     .max_write = 65536 };

	if (in->minor < out.minor)
		out.minor = in->minor;
	fuse_reply(fd, head->unique, 0, &out, sizeof(out));
}

static inline void fuse_answer(int fd, const u8 *message, u8 *content, int error)
{
	const struct fuse_in_header *head = (const void *)message;
	const void *in = message + sizeof(*head);
	struct fuse_entry_out entry = { .nodeid = FUSE_FILE_NODE,
					.attr = fuse_attributes(FUSE_FILE_NODE) };
	struct fuse_attr_out attr = { .attr = fuse_attributes(head->nodeid) };
	struct fuse_open_out opened = { .fh = 1 };
	struct fuse_write_out written = {};

	if (error) {
		if (error != FUSE_NEVER)
			fuse_reply(fd, head->unique, error, NULL, 0);
		return;
	}
	switch (head->opcode) {
	case FUSE_INIT:
		return fuse_answer_init(fd, head, in);
	case FUSE_LOOKUP:
		return fuse_reply(fd, head->unique, strcmp(in, "file") ? -ENOENT : 0, &entry,
				  sizeof(entry));
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		return fuse_reply(fd, head->unique, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
		return fuse_reply(fd, head->unique, 0, &opened, sizeof(opened));
	case FUSE_READ:
		return fuse_answer_read(fd, head, in, content);
	case FUSE_WRITE: {
		const struct fuse_write_in *params = in;

		if (params->offset + params->size <= FUSE_FILE_BYTES)
			memcpy(content + params->offset, params + 1, params->size);
		written.size = params->size;
		return fuse_reply(fd, head->unique, 0, &written, sizeof(written));
	}
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	case FUSE_RELEASE:
	case FUSE_FLUSH:
	case FUSE_FSYNC:
		return fuse_reply(fd, head->unique, 0, NULL, 0);
	}
	fuse_reply(fd, head->unique, -ENOSYS, NULL, 0);
}

__attribute__((noreturn)) static inline void fuse_serve(int fd, fuse_decide decide)
{
	static u8 message[256 << 10] __attribute__((aligned(8))), content[FUSE_FILE_BYTES];

	for (u32 number = 0;; number++) {
		ssize_t got = read(fd, message, sizeof(message));

		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			fuse_answer(fd, message, content,
				    decide(((const struct fuse_in_header *)message)->opcode,
					   number));
		else if (got < 0 && errno == ENODEV)
			_exit(0);
	}
}

/* Mounts @folder and returns the server's pid; 0 if FUSE is not available. */
static inline pid_t fuse_start(const char *folder, fuse_decide decide)
{
	char options[100];
	pid_t server;
	int fd;

	if (system("modprobe fuse 2>/dev/null"))
		printf("# modprobe fuse has failed\n");
	mkdir(folder, 0755);
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		printf("# there is no FUSE: %s\n", strerror(errno));
		return 0;
	}
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other",
		 fd);
	if (mount("test", folder, "fuse", MS_NOSUID | MS_NODEV, options)) {
		printf("# FUSE cannot be mounted: %s\n", strerror(errno));
		close(fd);
		return 0;
	}
	server = fork();
	if (!server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		fuse_serve(fd, decide);
	}
	close(fd);
	return server;
}

/* Every task that waits for an answer gets an error. */
static inline void fuse_stop(const char *folder, pid_t server)
{
	if (server <= 0)
		return;
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	umount2(folder, MNT_DETACH);
}

#endif /* KL_TESTS_FUSE_H */
