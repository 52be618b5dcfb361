// SPDX-License-Identifier: GPL-2.0
// readers.mjs READERS FORMAT FILE [WORK]: reads an exported trace with a package from npm, in the folder
// READERS, and prints what it has as JSON: of `pprof`, samples by thread; of `otlp`, spans and their time by
// name, and states of threads; of `page`, what speedscope shows of the file, in a headless Chromium.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { Browser } from '../view/browser.mjs';

const [readers, format, file, work] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${resolve(readers)}/node_modules/`));

function pprof() {
	const { Profile } = require('pprof-format');
	const profile = Profile.decode(gunzipSync(readFileSync(file)));
	const text = (i) => profile.stringTable.strings[Number(i)];
	const byTid = {}, functions = {};
	let ns = 0;

	for (const sample of profile.sample) {
		const tid = sample.label.find((label) => text(label.key) === 'tid');
		const leaf = profile.location[Number(sample.locationId[0]) - 1];
		const name = text(profile.function[Number(leaf.line[0].functionId) - 1].name);

		byTid[Number(tid.num)] = (byTid[Number(tid.num)] ?? 0) + Number(sample.value[0]);
		functions[name] = (functions[name] ?? 0) + Number(sample.value[0]);
		ns += Number(sample.value[1]);
	}
	return { byTid, ns, functions, types: profile.sampleType.map((type) => text(type.type)) };
}

// Messages as OpenTelemetry's own package encodes and decodes them.
function otlp() {
	const root = require('@opentelemetry/otlp-transformer/build/src/generated/root.js').opentelemetry.proto;
	const Traces = root.collector.trace.v1.ExportTraceServiceRequest;
	const Metrics = root.collector.metrics.v1.ExportMetricsServiceRequest;
	const read = (Message, object) => Message.decode(Message.encode(Message.fromObject(object)).finish());
	const value = (attributes, key) => {
		const found = attributes.find((each) => each.key === key)?.value;

		return found?.intValue ? Number(found.intValue) : found?.stringValue;
	};
	const calls = {}, states = {}, gauges = {};
	let roots = 0, failed = 0, services = new Set();

	const addSpan = (span) => {
		const ns = Number(BigInt(span.endTimeUnixNano.toString()) - BigInt(span.startTimeUnixNano.toString()));

		roots += !span.parentSpanId?.length && span.traceId.length > 0;
		if (value(span.attributes, 'kernlens.kind') !== 'syscall')
			return;
		const call = calls[span.name] ??= [0, 0];

		call[0]++;
		call[1] += ns;
		failed += span.status?.code === 2;
	};
	const addMetric = (metric) => {
		for (const point of (metric.sum ?? metric.gauge).dataPoints)
			if (metric.name === 'kernlens.thread.time')
				states[`${value(point.attributes, 'thread.id')} ${value(point.attributes, 'state')}`] = Number(point.asInt);
			else
				gauges[metric.name] = (gauges[metric.name] ?? 0) + 1;
	};

	for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) {
		const object = JSON.parse(line);

		for (const resource of object.resourceSpans ? read(Traces, object).resourceSpans : []) {
			services.add(value(resource.resource.attributes, 'service.name'));
			resource.scopeSpans.forEach((scope) => scope.spans.forEach(addSpan));
		}
		for (const resource of object.resourceMetrics ? read(Metrics, object).resourceMetrics : [])
			resource.scopeMetrics.forEach((scope) => scope.metrics.forEach(addMetric));
	}
	return { calls, states, gauges, failed, roots, services: [...services] };
}

// speedscope's command opens its page in the same way.
async function page() {
	const script = resolve(work, 'page.js');
	const index = resolve(readers, 'node_modules/speedscope/dist/release/index.html');
	const browser = await Browser.start();

	writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, "${readFileSync(file).toString('base64')}")`);
	await browser.open(`${pathToFileURL(index).href}#localProfilePath=${script}`);
	const shown = await browser.until("document.title.endsWith(' - speedscope') && document.body.innerText.includes('Sandwich')");
	const result = { shown, title: await browser.evaluate('document.title'), text: await browser.evaluate('document.body.innerText'), errors: browser.errors };

	await browser.stop();
	return result;
}

console.log(JSON.stringify(await { pprof, otlp, page }[format]()));
