// SPDX-License-Identifier: GPL-2.0
/*
 * Functions for a page of blocks: a loop with branches, a jump table, a part that is never executed, and
 * a name of a source file that would be a script if a page did not show it as text. tests/view/run gives
 * such a name to hostile(), too.
 */
static volatile int sink;

__attribute__((noinline)) int walk(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		if (i % 3 == 0)
			sink = i;
		else if (i % 5 == 0)
			sum += sink;
		if (sum > 1000000)
			sink = -1;
		for (int k = 0; k < i % 4; k++)
			sink++;
	}
	return sum;
}

__attribute__((noinline)) int choose(int n)
{
	switch (n) {
	case 0:
		return sink;
	case 1:
		sink = 3;
		return 7;
	case 2:
		return sink * 5;
	case 3:
		sink++;
		return sink / 3;
	case 4:
		return walk(1);
	case 5:
		sink = 9;
		break;
	}
	return sink ^ 3;
}

#line 1 "</script><script>window.bad=1</script><img src=x onerror=window.bad=2>.c"
__attribute__((noinline)) int hostile(int n)
{
	return n > 3 ? walk(n) : sink;
}

int main(void)
{
	for (int i = 0; i < 200; i++)
		sink += walk(i) + choose(i % 7) + hostile(i);
	return 0;
}
