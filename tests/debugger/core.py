# SPDX-License-Identifier: GPL-2.0
# Reads a core in gdb.
"""In gdb, with a core: writes the records of the flight recorder to KL_WORK/core.listing."""
import os

import gdb

WORK = os.environ["KL_WORK"]
gdb.execute("set pagination off")
gdb.execute("source gdb/kernlens-gdb.py")
gdb.execute("set kernlens-command %s" % os.environ["KL_KERNLENS"])
print(gdb.execute("kernlens status", to_string=True))
listing = gdb.execute("kernlens print -s flight", to_string=True)
with open(WORK + "/core.listing", "w") as file:
    file.write("".join(line for line in listing.splitlines(True) if line.startswith("[")))
try:
    gdb.execute("kernlens unhook")
except gdb.error as error:
    print(error)
    if "a core cannot be changed" not in str(error):
        os.unlink(WORK + "/core.listing")
