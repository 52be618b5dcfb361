/* SPDX-License-Identifier: GPL-2.0 */
/* Opens directories of traces, also where other users may have planted the path. */
#ifndef KERNLENS_TRACE_FOLDER_H
#define KERNLENS_TRACE_FOLDER_H

/**
 * kl_trace_folder - open a directory of a trace in order to change its contents
 * @dir: directory that @name is relative to, or AT_FDCWD
 * @name: of the trace, or of the folder ".kernlens" in it
 *
 * In a directory that all users share, another user may have prepared the path. So this refuses
 * symbolic links and directories of other users. Returns a descriptor, or a negative errno with
 * an error text: -ENOENT, -ELOOP (a symbolic link), -EPERM (another user's, which root may not
 * change either), or what the system reported.
 */
int kl_trace_folder(int dir, const char *name);

#endif /* KERNLENS_TRACE_FOLDER_H */
