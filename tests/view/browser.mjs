// SPDX-License-Identifier: GPL-2.0
// Drives a headless Chromium through its debugging pipe.

import { spawn } from 'node:child_process';

export class Browser {
	static async start() {
		const browser = new Browser();

		browser.process = spawn('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu',
			'--remote-debugging-pipe', '--no-first-run', '--disable-background-networking',
			`--user-data-dir=${process.env.TMPDIR || '/tmp'}/chromium-${process.pid}`,
			'--window-size=1400,900', 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
		browser.calls = new Map();
		browser.last = 0;
		browser.errors = [];
		browser.requests = [];
		browser.listen();
		const { targetId } = await browser.call('Target.createTarget', { url: 'about:blank' });

		browser.session = (await browser.call('Target.attachToTarget', { targetId, flatten: true })).sessionId;
		for (const domain of ['Page', 'Runtime', 'Log', 'Network'])
			await browser.call(`${domain}.enable`);
		await browser.call('Emulation.setDeviceMetricsOverride',
			{ width: 1400, height: 900, deviceScaleFactor: 1, mobile: false });
		return browser;
	}

	listen() {
		let rest = '';

		this.process.stdio[4].on('data', (data) => {
			const messages = (rest + data).split('\0');

			rest = messages.pop();
			for (const message of messages)
				this.take(JSON.parse(message));
		});
	}

	take(message) {
		const { id, method, params } = message;

		if (id) {
			const { resolve, reject } = this.calls.get(id);

			this.calls.delete(id);
			if (message.error)
				reject(new Error(message.error.message));
			else
				resolve(message.result);
		} else if (method === 'Runtime.exceptionThrown') {
			this.errors.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
		} else if (method === 'Log.entryAdded' && params.entry.level === 'error') {
			this.errors.push(params.entry.text);
		} else if (method === 'Runtime.consoleAPICalled' && params.type === 'error') {
			this.errors.push(params.args.map((arg) => arg.value).join(' '));
		} else if (method === 'Network.requestWillBeSent') {
			this.requests.push(params.request.url);
		}
	}

	call(method, params = {}) {
		const id = ++this.last;

		this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: method.startsWith('Browser.') ? undefined : this.session })}\0`);
		return new Promise((resolve, reject) => { this.calls.set(id, { resolve, reject }); });
	}

	async open(url) {
		const at = (where) => `document.readyState === 'complete' && location.href.startsWith(${JSON.stringify(where)})`;

		// A link to another place of the same page would not load it again.
		await this.call('Page.navigate', { url: 'about:blank' });
		await this.until(at('about:blank'));
		this.errors = [];
		this.requests = [];
		await this.call('Page.navigate', { url });
		await this.until(at(url));
	}

	// The value of an expression, which may be a promise.
	async evaluate(expression) {
		const { result, exceptionDetails } = await this.call('Runtime.evaluate',
			{ expression, awaitPromise: true, returnByValue: true });

		if (exceptionDetails)
			throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
		return result.value;
	}

	// Wait until an expression is true.
	async until(expression, ms = 20000) {
		const end = Date.now() + ms;

		while (Date.now() < end) {
			if (await this.evaluate(expression))
				return true;
			await new Promise((resolve) => { setTimeout(resolve, 30); });
		}
		return false;
	}

	async mouse(type, x, y, more = {}) {
		await this.call('Input.dispatchMouseEvent', { type, x, y, button: type === 'mouseMoved' ? 'none' : 'left',
			clickCount: 1, ...more });
	}

	async click(x, y) {
		await this.mouse('mouseMoved', x, y);
		await this.mouse('mousePressed', x, y);
		await this.mouse('mouseReleased', x, y);
	}

	async key(key) {
		const text = key.length === 1 ? key : key === 'Enter' ? '\r' : undefined;

		await this.call('Input.dispatchKeyEvent', { type: 'keyDown', key, text });
		await this.call('Input.dispatchKeyEvent', { type: 'keyUp', key });
	}

	stop() {
		return new Promise((resolve) => {
			this.process.on('exit', resolve);
			this.call('Browser.close').catch(() => this.process.kill());
		});
	}
}
