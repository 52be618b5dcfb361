// SPDX-License-Identifier: GPL-2.0
// Expressions on fields, as kernlens-expressions(7) has them, for records that are in the page: their
// fields are text there. A served page has the server evaluate them.

const OPERATORS = [['||', 'or'], ['&&', 'and'], ['|'], ['^'], ['&'], ['==', '!=', '~', '!~'], ['<', '<=', '>', '>='], ['<<', '>>'],
	['+', '-'], ['*', '/', '%']];
const UNITS = { B: 1n, K: 1024n, M: 1024n ** 2n, G: 1024n ** 3n, T: 1024n ** 4n, KiB: 1024n, MiB: 1024n ** 2n, GiB: 1024n ** 3n,
	TiB: 1024n ** 4n, ns: 1n, us: 1000n, ms: 1000000n, s: 1000000000n, min: 60000000000n, h: 3600000000000n, d: 86400000000000n };
const TOKEN = /\s*(?:(0x[\da-f]+|0[0-7]+(?![\d.])|\d+(?:\.\d+)?)([a-z]*)|([a-z_]\w*)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)+)'|(\|\||&&|==|!=|!~|<=|>=|<<|>>|[|^&~<>+\-*/%!?:()[\]]))/iy;

function unescape(text) {
	const known = { n: '\n', t: '\t', r: '\r', 0: '\0' };

	return text.replace(/\\(x[\da-f]{2}|.)/gi, (_, c) => (c.length === 3 ? String.fromCharCode(parseInt(c.slice(1), 16)) : known[c] ?? c));
}

function numberOf(digits, unit) {
	const scale = unit ? UNITS[unit] : 1n;

	if (scale === undefined)
		throw new Error(`"${unit}" is not a unit`);
	if (!digits.includes('.'))
		return BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits) * scale;
	const [whole, part] = digits.split('.'), value = BigInt(whole + part) * scale, power = 10n ** BigInt(part.length);

	if (!unit || value % power)
		throw new Error(`"${digits}${unit}" is not a whole number`);
	return value / power;
}

function tokensOf(text) {
	const tokens = [];

	for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.trimEnd().length;) {
		const at = TOKEN.lastIndex, found = TOKEN.exec(text);

		if (!found)
			throw new Error(`"${text.slice(at).trim()}" is not understood`);
		const [, digits, unit, name, string, letter, operator] = found;

		if (digits)
			tokens.push({ value: numberOf(digits, unit) });
		else if (letter !== undefined)
			tokens.push({ value: BigInt(unescape(letter).codePointAt(0)) });
		else if (string !== undefined)
			tokens.push({ string });
		else
			tokens.push(name && !['and', 'or', 'not'].includes(name) ? { name } : { operator: name || operator });
	}
	return tokens;
}

// A tree of { op, args }, { value }, { name } and { string }.
class Parser {
	constructor(text) {
		this.tokens = tokensOf(text);
		this.at = 0;
	}

	is(...operators) {
		const token = this.tokens[this.at];

		return token && operators.includes(token.operator) ? token.operator : null;
	}

	take(...operators) {
		const found = this.is(...operators);

		if (found)
			this.at++;
		return found;
	}

	whole() {
		const tree = this.choice();

		if (this.at < this.tokens.length)
			throw new Error('the end of the expression is not understood');
		return tree;
	}

	choice() {
		const condition = this.binary(0);

		if (!this.take('?'))
			return condition;
		const yes = this.choice();

		if (!this.take(':'))
			throw new Error('":" is missing');
		return { op: '?', args: [condition, yes, this.choice()] };
	}

	binary(level) {
		if (level === OPERATORS.length)
			return this.unary();
		if (level === 2 && this.take('not'))
			return { op: '!', args: [this.binary(2)] };
		let left = this.binary(level + 1), op;

		while ((op = this.take(...OPERATORS[level])))
			left = { op: { or: '||', and: '&&' }[op] || op, args: [left, this.binary(level + 1)] };
		return left;
	}

	unary() {
		const op = this.take('-', '!', '~', '+');

		if (op)
			return { op: op === '!' ? '!' : `${op}x`, args: [this.unary()] };
		if (this.take('(')) {
			const inner = this.choice();

			if (!this.take(')'))
				throw new Error('")" is missing');
			return inner;
		}
		const token = this.tokens[this.at++];

		if (!token || token.operator)
			throw new Error(token ? `"${token.operator}" is not expected there` : 'something is missing at the end');
		if (this.is('[', '(', '.'))
			throw new Error('elements and functions can only be searched for in a served page');
		return token;
	}
}

const whole64 = (value) => BigInt.asIntN(64, value);
const NUMERIC = {
	'|': (a, b) => a | b, '^': (a, b) => a ^ b, '&': (a, b) => a & b,
	'==': (a, b) => BigInt(a === b), '!=': (a, b) => BigInt(a !== b),
	'<': (a, b) => BigInt(a < b), '<=': (a, b) => BigInt(a <= b), '>': (a, b) => BigInt(a > b), '>=': (a, b) => BigInt(a >= b),
	'<<': (a, b) => whole64(a << (b & 63n)), '>>': (a, b) => a >> (b & 63n),
	'+': (a, b) => whole64(a + b), '-': (a, b) => whole64(a - b), '*': (a, b) => whole64(a * b),
	'/': (a, b) => (b ? a / b : 0n), '%': (a, b) => (b ? a % b : 0n),
};

// A text compared with a pattern: an asterisk at its end stands for anything.
function likeness(string) {
	const open = /(?:^|[^\\])(?:\\\\)*\*$/.test(string), text = unescape(open ? string.slice(0, -1) : string);

	return open ? (value) => value.startsWith(text) : (value) => value === text;
}

// A function from a getter of fields to the value. `kinds(name)`: 'number', 'text', or undefined.
// Throws if it cannot be evaluated with these fields; `missing` is set if only a name is missing.
function compileTree(tree, kinds) {
	if (tree.value !== undefined)
		return () => tree.value;
	if (tree.name !== undefined) {
		const kind = kinds(tree.name), { name } = tree;

		if (kind === undefined)
			throw Object.assign(new Error(`no event has "${name}"`), { missing: true });
		if (kind !== 'number')
			throw new Error(`"${name}" is not a number`);
		return (get) => get(name);
	}
	if (tree.string !== undefined)
		throw new Error('a string can only be compared');
	const { op, args } = tree, texts = ['==', '!=', '~', '!~'].includes(op) && args.find((arg) => arg.string !== undefined);

	if (texts) {
		const field = args.find((arg) => arg !== texts), like = likeness(texts.string), no = op.startsWith('!');

		if (!field || field.name === undefined)
			throw new Error('only a field can be compared with a string');
		if (kinds(field.name) === undefined)
			throw Object.assign(new Error(`no event has "${field.name}"`), { missing: true });
		if (kinds(field.name) !== 'text')
			throw new Error(`"${field.name}" is not a text`);
		return (get) => BigInt(like(get(field.name)) !== no);
	}
	if (op === '~' || op === '!~')
		throw new Error('a pattern is a string in quotes');
	const [a, b, c] = args.map((arg) => compileTree(arg, kinds));

	switch (op) {
	case '?': return (get) => (a(get) ? b(get) : c(get));
	case '&&': return (get) => BigInt(Boolean(a(get)) && Boolean(b(get)));
	case '||': return (get) => BigInt(Boolean(a(get)) || Boolean(b(get)));
	case '!': return (get) => BigInt(!a(get));
	case '-x': return (get) => whole64(-a(get));
	case '+x': return a;
	case '~x': return (get) => ~a(get);
	default: return (get) => NUMERIC[op](a(get), b(get));
	}
}

// --------------------------------------------------------------- records as text

const wordNumbers = new Map((about.words || []).map(([format, number, text]) => [`${format} ${text}`, BigInt(number)]));

// The numbers or texts of some fields in a record's text, which has `list` one after the other.
function valuesIn(text, list, wanted, to) {
	let at = 0;

	for (let i = 0; i < list.length; i++) {
		const [name, kind, format] = list[i];
		const begin = at + name.length + 1;
		let end = i + 1 < list.length ? text.indexOf(` ${list[i + 1][0]}=`, kind === 's' ? text.indexOf('"', begin + 1) : begin) : -1;

		if (end < 0)
			end = text.length;
		if (wanted.has(name) && !to.has(name))
			to.set(name, valueOf(text.slice(begin, end), kind, format));
		at = end + 1;
	}
}

// Null: it is not known which number the word stands for.
function valueOf(text, kind, format) {
	if (kind === 's')
		return unescape(text.slice(1, -1));
	if (kind === 't')
		return text;
	if (/^-?(0x[\da-f]+|\d+)$/i.test(text))
		return text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text);
	return wordNumbers.get(`${format} ${text}`) ?? null;
}

const unknownValue = {};

// What an expression needs of one event: null if it cannot be used with it.
function evaluatorOf(tree, event) {
	const fields = about.fields[event] || [], { variables } = about;
	const kinds = new Map([['tid', 'number'], ['pid', 'number'], ['cpu', 'number'], ['comm', 'text']]);

	for (const [name, kind] of [...variables, ...fields])
		kinds.set(name, kind === 's' || kind === 't' ? 'text' : kind === '-' ? 'array' : 'number');
	const run = compileTree(tree, (name) => kinds.get(name)), wanted = new Set(kinds.keys());

	return (record) => {
		const values = new Map(), { thread, text } = record;
		const cut = variables.length ? text.lastIndexOf(` {${variables[0][0]}=`) : -1;

		valuesIn(cut < 0 ? text : text.slice(0, cut), fields, wanted, values);
		if (cut >= 0)
			valuesIn(text.slice(cut + 2, -1), variables, wanted, values);
		for (const [name, value] of [['tid', BigInt(thread.tid)], ['pid', BigInt(thread.pid)], ['cpu', BigInt(record.cpu)], ['comm', thread.name]])
			if (!values.has(name))
				values.set(name, value);
		try {
			return Boolean(run((name) => {
				const value = values.get(name);

				if (value === null || value === undefined)
					throw unknownValue;
				return value;
			}));
		} catch (error) {
			if (error !== unknownValue)
				throw error;
			return null;
		}
	};
}

function globOf(pattern) {
	const parts = pattern.replace(/[.+^${}()|\\]/g, '\\$&').replace(/\*/g, '.*').replace(/\?/g, '.');

	return new RegExp(`^${parts}$`);
}

// A function from a record to whether it is what a text describes (null: unknown), as the server has it:
// EVENT/EXPRESSION/, an expression, /a regular expression/, or a text. Throws an error.
function matcherOf(text) {
	const quoted = /^"([^"]+)"$/.exec(text), regular = /^\/(.*)\/(i?)$/.exec(text);
	const filtered = /^([\w*?:[\]!-]+)\s*\/(.*)\/$/.exec(text);

	if (regular) {
		let expression;

		try {
			expression = new RegExp(regular[1], regular[2]);
		} catch {
			throw new Error('This is not a regular expression');
		}
		return (record) => expression.test(shownText(record));
	}
	if (about.fields && Object.hasOwn(about.fields, text))
		return (record) => record.name === text;
	if (quoted || (!filtered && !/==|!=|<|>|~|&&|\|\|/.test(text))) {
		const part = (quoted ? quoted[1] : text).toLowerCase();

		return (record) => shownText(record).toLowerCase().includes(part);
	}
	const tree = new Parser(filtered ? filtered[2] : text).whole();
	const glob = filtered ? globOf(filtered[1]) : /^/, evaluators = new Map();
	let problem = null;

	for (const event of Object.keys(about.fields || {}))
		if (glob.test(event))
			try {
				evaluators.set(event, evaluatorOf(tree, event));
			} catch (error) {
				if (!problem || (problem.missing && !error.missing))
					problem = error;
			}
	if (!evaluators.size)
		throw problem || new Error('no event has this name');
	return (record) => (evaluators.has(record.name) ? evaluators.get(record.name)(record) : false);
}

function shownText(record) {
	return `${threadTitle(record.thread)} ${record.name} ${record.text}`;
}
