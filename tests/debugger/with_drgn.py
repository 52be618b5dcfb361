# SPDX-License-Identifier: GPL-2.0
# Reads a core in drgn.
"""In drgn, with a core: writes the records of the flight recorder to the file that is named."""
import io
import os
import sys

sys.path.append("gdb")
import kernlens_drgn  # noqa: E402

command = os.environ["KL_KERNLENS"]
assert "flight" in [s.name for s in kernlens_drgn.sessions(prog)]  # noqa: F821
text = io.StringIO()
kernlens_drgn.print_events(prog, "flight", command=command, file=text)  # noqa: F821
marks = list(kernlens_drgn.events(prog, "flight", ["-e", "mark"], command))  # noqa: F821
marks = [event for event in marks if "event" in event]
assert len(marks) > 10 and all(event["event"] == "mark" for event in marks), marks[:2]
with open(sys.argv[1], "w") as file:
    file.write("".join(line for line in text.getvalue().splitlines(True) if line.startswith("[")))
