# SPDX-License-Identifier: GPL-2.0
# Prints TAP lines. A failed one says what was expected and what it got.


class Tap:
    def __init__(self):
        self.number = 0
        self.failed = 0

    def same(self, text, got, expected):
        """Both must be equal; of dictionaries, only what differs is printed."""
        self.number += 1
        good = got == expected
        print(f"{'' if good else 'not '}ok {self.number} - {text}", flush=True)
        if good:
            return True
        self.failed += 1
        if isinstance(got, dict) and isinstance(expected, dict):
            keys = [k for k in {**got, **expected} if got.get(k) != expected.get(k)][:5]
            got, expected = ({k: each.get(k) for k in keys} for each in (got, expected))
        print(f"# expected {str(expected)[:400]}\n# got {str(got)[:400]}", flush=True)
        return False

    def good(self, text, value):
        """A condition."""
        return self.same(text, bool(value), True)

    def check(self, value, text, *about):
        """A condition; @about is printed if it does not hold. Returns @value."""
        self.number += 1
        print(f"{'' if value else 'not '}ok {self.number} - {text}", flush=True)
        if not value:
            self.failed += 1
            for item in about:
                print(f"# {str(item)[:400]}", flush=True)
        return value

    def end(self):
        """Prints the plan. Returns the exit status."""
        print(f"1..{self.number}")
        return 1 if self.failed else 0
