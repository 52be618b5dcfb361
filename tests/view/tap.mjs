// SPDX-License-Identifier: GPL-2.0
// Prints results as TAP lines, and checks that several pages share.

let number = 0, failed = 0, begin = '';

// What each following text begins with.
export function prefix(text) {
	begin = text;
}

export function check(text, good, seen) {
	console.log(`${good ? 'ok' : 'not ok'} ${++number} - ${begin}${text}`);
	if (!good) {
		failed++;
		console.log(`# got ${JSON.stringify(seen)}`);
	}
}

// Ends the program.
export function finish() {
	console.log(`1..${number}`);
	process.exit(failed ? 1 : 0);
}

export function checkAlone(text, browser, url) {
	check(text, browser.requests.every((each) => each === url || each.startsWith('data:')), browser.requests);
}

export function near(a, b) {
	return Math.abs(a - b) <= 1;
}

// Times in the states of each thread of a timeline, and its number of system calls. `spansOf`: an
// expression in the page for the spans of a track.
export function sumsOfThreads(browser, spansOf) {
	return browser.evaluate(`(async () => {
		const all = {};

		for (const track of tracks) {
			const spans = await ${spansOf};

			if (track.kind === 'thread')
				all[track.id] = [...(all[track.id] || []), ...spans.times(-1, about.ns + 1)];
			if (track.kind === 'syscall')
				all[track.id].calls = spans.count.reduce((sum, n) => sum + n, 0);
		}
		return Object.fromEntries(Object.entries(all).map(([tid, of]) => [tid, [...of.slice(0, 4), of.calls || 0]]));
	})()`);
}

export function checkThreads(facts, sums) {
	const wrong = Object.entries(facts.threads).filter(([tid, [running, ready, asleep, calls]]) => {
		const of = sums[tid];

		return !of || !near(of[0], running) || !near(of[1], ready) || !near(of[2] + of[3], asleep) || of[4] !== calls;
	});

	check('each thread ran, waited and slept as long as it did, and called as often', wrong.length === 0,
		wrong.slice(0, 3).map(([tid, fact]) => [tid, fact, sums[tid]]));
}
