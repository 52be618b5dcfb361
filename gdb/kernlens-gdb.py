# SPDX-License-Identifier: GPL-2.0
# Defines the gdb commands.
"""
For gdb's command `source`: defines the commands of kernlens_gdb.py. gdb runs all scripts in one
namespace, so nothing else is here.
"""
import os
import sys

# Not __file__: in a script that sources this one, it is that of the other.
sys.path.append(os.path.dirname(os.path.realpath(sys._getframe().f_code.co_filename)))
import kernlens_gdb  # noqa: E402, F401  # pylint: disable=unused-import
