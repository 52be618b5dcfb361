# SPDX-License-Identifier: GPL-2.0
# The layouts of the Python package.
"""layouts.py: prints the structs of the Python package whose members, in name, offset and size,
differ from lib/abi.txt. Needs KERNLENS_LIBRARY, as the package loads it.
"""

import ctypes
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "python")

from kernlens import _library  # noqa: E402


def described():
    """Offset and size of the members of each struct in lib/abi.txt, by name; the size of each."""
    found = {}
    with open("lib/abi.txt", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 4 and words[0] == "struct" and words[2] == "size":
                found.setdefault(words[1], {})["size"] = int(words[3])
            elif len(words) > 4 and words[0] == "struct" and words[2].isdigit():
                name = line.split("(*")[1].split(")")[0] if "(*" in line else words[-1]
                name = name.split("[")[0].lstrip("*")
                found.setdefault(words[1], {})[name] = (int(words[2]), int(words[3]))
    return found


def differences(name, ours, theirs):
    """Lines, one for each member that differs."""
    for member in {**theirs, **ours}:
        if ours.get(member) != theirs.get(member):
            yield f"{name}.{member}: is {ours.get(member)}, in lib/abi.txt {theirs.get(member)}"


def main():
    known = described()
    structs = {
        name: of
        for name, of in vars(_library).items()
        if name.startswith("kl_") and isinstance(of, type) and issubclass(of, ctypes.Structure)
    }
    if not structs:
        print("no structs")
    for name, of in structs.items():
        if name not in known:
            print(f"{name} is not in lib/abi.txt")
            continue
        members = {member: getattr(of, member) for member, *_ in of._fields_}
        ours = {member: (at.offset, at.size) for member, at in members.items()}
        ours["size"] = ctypes.sizeof(of)
        for line in differences(name, ours, known[name]):
            print(line)


main()
