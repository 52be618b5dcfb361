// SPDX-License-Identifier: GPL-2.0
// Expressions on fields, as kernlens-expressions(7) has them, for records that are in the page: their
// fields are text there. A served page has the server evaluate them.

const OPERATORS = [['||', 'or'], ['&&', 'and'], ['|'], ['^'], ['&'], ['==', '!=', '~', '!~'], ['<', '<=', '>', '>='], ['<<', '>>'],
	['+', '-'], ['*', '/', '%']];
const UNITS = { B: 1n, K: 1024n, M: 1024n ** 2n, G: 1024n ** 3n, T: 1024n ** 4n, KiB: 1024n, MiB: 1024n ** 2n, GiB: 1024n ** 3n,
	TiB: 1024n ** 4n, ns: 1n, us: 1000n, ms: 1000000n, s: 1000000000n, min: 60000000000n, h: 3600000000000n, d: 86400000000000n };
const TOKEN = /\s*(?:(0x[\da-f]+|\d+(?:\.\d+)?)(\w*)|([a-z_]\w*)|"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\]|\\.[\da-f]{0,2}))'|(!~|\|\||&&|==|!=|<=|>=|<<|>>|[|^&~<>+\-*/%!?:().[\]]))/iy;
const ESCAPES = { n: '\n', t: '\t', r: '\r', 0: '\0', a: '\x07', b: '\b', f: '\f', v: '\v', '\\': '\\', "'": "'", '"': '"', '*': '*', '?': '?' };
const LARGEST = 2n ** 64n - 1n, signed64 = (value) => BigInt.asIntN(64, value), unsigned64 = (value) => BigInt.asUintN(64, value);

// Texts are compared as bytes, one in each character.
function bytesOf(text) {
	return /^[\0-\x7f]*$/.test(text) ? text : String.fromCharCode(...new TextEncoder().encode(text));
}

// The bytes of a literal of C, each as a character, and which of them are escaped.
function literalOf(text) {
	const escaped = [];
	let bytes = '';

	for (const [part, hex, letter] of text.matchAll(/\\x([\da-f]{2})|\\(.?)|[^\\]+/gi)) {
		if (letter !== undefined && !Object.hasOwn(ESCAPES, letter))
			throw new Error(`"${part}" is not a known escape`);
		if (part.startsWith('\\'))
			escaped.push(bytes.length);
		bytes += hex ? String.fromCharCode(parseInt(hex, 16)) : letter ? ESCAPES[letter] : bytesOf(part);
	}
	return { bytes, escaped };
}

// { value, wide }: `wide`: it is unsigned and has 64 bits
function numberOf(digits, suffix) {
	const isDecimal = !/^0[\dx]/i.test(digits), isType = /^[ul]*$/i.test(suffix), isUnit = isDecimal && Object.hasOwn(UNITS, suffix);
	const [whole, part = ''] = digits.split('.'), power = 10n ** BigInt(part.length);

	if ((!isType && !isUnit) || (!isDecimal && part) || /^0[0-7]*[89]/.test(digits))
		throw new Error(`"${digits}${suffix}" is not a number`);
	const text = /^0\d/.test(whole) ? `0o${whole}` : whole;
	const value = BigInt(text + part) * (isUnit ? UNITS[suffix] : 1n);

	if (value % power)
		throw new Error(`"${digits}${suffix}" is not a whole number`);
	if (value / power > LARGEST)
		throw new Error(`"${digits}${suffix}" does not fit into 64 bits`);
	return { value: signed64(value / power), wide: value / power > LARGEST / 2n || /u/i.test(isUnit ? '' : suffix) };
}

// 'x' as a number.
function characterOf(text) {
	const { bytes } = literalOf(text);

	if (bytes.length !== 1)
		throw new Error('one character is expected between apostrophes');
	return { value: BigInt.asIntN(8, BigInt(bytes.charCodeAt(0))), wide: false };
}

function tokensOf(text) {
	const tokens = [];

	for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.trimEnd().length;) {
		const at = TOKEN.lastIndex, found = TOKEN.exec(text);

		if (!found)
			throw new Error(text.slice(at).trimStart().startsWith('=') ? 'use == to compare' :
				`"${text.slice(at).trim()}" is not understood`);
		const [, digits, suffix, name, string, letter, operator] = found;

		if (digits)
			tokens.push(numberOf(digits, suffix));
		else if (letter !== undefined)
			tokens.push(characterOf(letter));
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

		while ((op = this.take(...OPERATORS[level]))) {
			const next = this.tokens[this.at];

			if (next && ['~', '!~'].includes(op))
				next.isPattern = true;
			left = { op: { or: '||', and: '&&' }[op] || op, args: [left, this.binary(level + 1)] };
		}
		return left;
	}

	unary() {
		const op = this.take('-', '!', '~', '!~');

		if (op === '!~')
			return { op: '!', args: [{ op: '~x', args: [this.unary()] }] };
		if (op)
			return { op: op === '!' ? '!' : `${op}x`, args: [this.unary()] };
		if (this.take('(')) {
			const inner = this.choice();

			if (!this.take(')'))
				throw new Error('")" is missing');
			if (inner.name !== undefined && this.at < this.tokens.length && !this.tokens[this.at].operator)
				throw new Error('casts can only be searched for in a served page');
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

const compare = (test) => (wide) => (a, b) => BigInt(wide ? test(unsigned64(a), unsigned64(b)) : test(a, b));
const divide = (run) => (wide) => (a, b) => (b === 0n ? 0n : signed64(wide ? run(unsigned64(a), unsigned64(b)) : run(a, b)));
const calculate = (run) => () => (a, b) => signed64(run(a, b));

// Operators as C has them: of two numbers, or of unsigned ones if one of them is `wide`.
const NUMERIC = {
	'|': calculate((a, b) => a | b), '^': calculate((a, b) => a ^ b), '&': calculate((a, b) => a & b),
	'==': compare((a, b) => a === b), '!=': compare((a, b) => a !== b),
	'<': compare((a, b) => a < b), '<=': compare((a, b) => a <= b), '>': compare((a, b) => a > b), '>=': compare((a, b) => a >= b),
	'<<': calculate((a, b) => a << (b & 63n)),
	'>>': (wide) => (a, b) => signed64((wide ? unsigned64(a) : a) >> (b & 63n)),
	'+': calculate((a, b) => a + b), '-': calculate((a, b) => a - b), '*': calculate((a, b) => a * b),
	'/': divide((a, b) => a / b), '%': divide((a, b) => a % b),
};

// A text compared with a string, or with a pattern: an asterisk at its end stands for anything.
function likeness({ string, isPattern }) {
	const { bytes, escaped } = literalOf(string), open = bytes.endsWith('*') && !escaped.includes(bytes.length - 1);
	const text = open ? bytes.slice(0, -1) : bytes;

	if (bytes.includes('\0'))
		throw new Error('a string cannot contain a NUL byte');
	if (isPattern && [...text].some((c, i) => '*?['.includes(c) && !escaped.includes(i)))
		throw new Error('a pattern can have only one *, at its end, and no ? or [');
	return open ? (value) => value.startsWith(text) : (value) => value === text;
}

function fieldOf(name, fields) {
	const field = fields(name);

	if (!field)
		throw Object.assign(new Error(`no event has "${name}"`), { missing: true });
	return field;
}

// A field compared with a string.
function compileText({ op, args }, fields) {
	const string = args.find((arg) => arg.string !== undefined), field = args.find((arg) => arg !== string);

	if (field.name === undefined)
		throw new Error('only a field can be compared with a string');
	if (!['==', '!=', '~', '!~'].includes(op) || (op.endsWith('~') && string !== args[1]))
		throw new Error('strings are compared with == and !=, and patterns behind ~ and !~');
	if (fieldOf(field.name, fields).kind !== 'text')
		throw new Error(`"${field.name}" is not a text`);
	const like = likeness(string), no = op.startsWith('!');

	return { run: (get) => BigInt(like(get(field.name)) !== no), wide: false };
}

function compileOperator(op, a, b) {
	const wide = op === '<<' || op === '>>' ? a.wide : a.wide || b.wide, run = NUMERIC[op](wide);
	const constant = a.constant && b.constant, right = b.constant ? unsigned64(b.run()) : null;

	if (op === '/' || op === '%' ? right === 0n : ['<<', '>>'].includes(op) && right > 63n)
		throw new Error(op === '/' || op === '%' ? 'division by 0' : 'the shift count exceeds 63');
	return { run: (get) => run(a.run(get), b.run(get)), wide: wide && !/[<>=]=|^[<>]$/.test(op), constant };
}

// { run, wide, constant }: `run` is a function from a getter of fields to the value, a number that is signed.
// `fields(name)`: { kind, wide }, or undefined. Throws if it cannot be evaluated with these; `missing` is
// set if only a name is missing.
function compileTree(tree, fields) {
	const { op, args = [], name, value } = tree;

	if (value !== undefined)
		return { run: () => value, wide: tree.wide, constant: true };
	if (name !== undefined) {
		const { kind, wide } = fieldOf(name, fields);

		if (kind !== 'number')
			throw new Error(`"${name}" is not a number`);
		return { run: (get) => get(name), wide };
	}
	if (tree.string !== undefined)
		throw new Error('a string can only be compared');
	if (args.length === 2 && args.some((arg) => arg.string !== undefined))
		return compileText(tree, fields);
	if (op === '~' || op === '!~')
		throw new Error('a pattern is a string in quotes');
	const parts = args.map((arg) => compileTree(arg, fields)), [a, b, c] = parts;
	const constant = parts.every((part) => part.constant);

	switch (op) {
	case '?': return { run: (get) => (a.run(get) ? b.run(get) : c.run(get)), wide: b.wide || c.wide, constant };
	case '&&': return { run: (get) => BigInt(Boolean(a.run(get)) && Boolean(b.run(get))), wide: false, constant };
	case '||': return { run: (get) => BigInt(Boolean(a.run(get)) || Boolean(b.run(get))), wide: false, constant };
	case '!': return { run: (get) => BigInt(!a.run(get)), wide: false, constant };
	case '-x': return { run: (get) => signed64(-a.run(get)), wide: a.wide, constant };
	case '~x': return { run: (get) => ~a.run(get), wide: a.wide, constant };
	default: return compileOperator(op, a, b);
	}
}

// --------------------------------------------------------------- records as text

// A word that stands for several numbers stands for none.
const wordNumbers = new Map();

for (const machine of machines) {
	const own = new Map();

	for (const [format, number, text] of machine.about.words || []) {
		const key = `${format} ${text}`;

		own.set(key, own.has(key) ? null : BigInt(number));
	}
	for (const [key, number] of own)
		wordNumbers.set(key, wordNumbers.has(key) && wordNumbers.get(key) !== number ? null : number);
}

const unknownValue = {};
const QUOTED = /"(?:[^"\\]|\\.)*"/y;

// Where a field ends in a record's text. A text without quotes may look like the fields behind it.
function endOf(text, begin, kind, next) {
	if (kind === 's') {
		QUOTED.lastIndex = begin;
		return QUOTED.test(text) ? QUOTED.lastIndex : text.length;
	}
	if (next === undefined)
		return text.length;
	const end = text.indexOf(` ${next}=`, begin);

	if (end < 0 || (kind === 't' && text.includes(` ${next}=`, end + 1)))
		throw unknownValue;
	return end;
}

// The numbers or texts of some fields in a record's text, which has `list` one after the other.
function valuesIn(text, list, wanted, to) {
	let at = 0;

	for (let i = 0; i < list.length; i++) {
		const [name, kind, format, bits] = list[i], begin = at + name.length + 1;
		const end = endOf(text, begin, kind, i + 1 < list.length ? list[i + 1][0] : undefined);

		if (wanted.has(name) && !to.has(name))
			to.set(name, valueOf(text.slice(begin, end), kind, format, bits));
		at = end + 1;
	}
}

// The bytes of a text in quotes, as kernlens prints it.
function unquoted(text) {
	return bytesOf(text.slice(1, -1)).replace(/\\([0-7]{3}|.)/g, (_, c) =>
		(c.length === 3 ? String.fromCharCode(parseInt(c, 8)) : ESCAPES[c] ?? c));
}

// `bits`: of the number, negative: signed. Null: it is not known which number the word stands for.
function valueOf(text, kind, format, bits) {
	if (kind === 's')
		return unquoted(text);
	if (kind === 't')
		return bytesOf(text);
	const number = /^0[0-7]+$/.test(text) ? BigInt(`0o${text}`) : /^-?\d+$|^0x[\da-f]+$/.test(text) ? BigInt(text) :
		wordNumbers.get(`${format} ${text}`) ?? null;

	return number === null ? null : bits < 0 ? BigInt.asIntN(-bits, number) : signed64(BigInt.asUintN(bits, number));
}

function namesIn({ name, args = [] }) {
	return [...(name === undefined ? [] : [name]), ...args.flatMap(namesIn)];
}

// What an expression needs of one event: null if it cannot be used with it.
function evaluatorOf(tree, event, { fields: lists, variables } = about) {
	const list = lists[event] || [];
	const fields = new Map([['tid', { kind: 'number' }], ['pid', { kind: 'number' }], ['cpu', { kind: 'number' }], ['comm', { kind: 'text' }]]);

	for (const [name, kind, , bits] of [...variables, ...list])
		fields.set(name, { kind: kind === 's' || kind === 't' ? 'text' : kind === '-' ? 'array' : 'number', wide: bits === 64 });
	const { run } = compileTree(tree, (name) => fields.get(name)), wanted = new Set(namesIn(tree));
	const [first] = variables, ofTask = { tid: (record) => BigInt(ownId(record.thread.tid)), pid: (record) => BigInt(ownId(record.thread.pid)),
		cpu: (record) => BigInt(record.cpu), comm: (record) => bytesOf(record.thread.name) };
	const valuesOf = (record) => {
		const values = new Map(), { text } = record, cut = first ? text.lastIndexOf(` {${first[0]}=`) : -1;

		if (cut >= 0 && text.indexOf(` {${first[0]}=`) !== cut)
			throw unknownValue;
		valuesIn(cut < 0 ? text : text.slice(0, cut), list, wanted, values);
		if (cut >= 0)
			valuesIn(text.slice(cut + 2, -1), variables, wanted, values);
		for (const name of wanted)
			if (!values.has(name))
				values.set(name, ofTask[name](record));
		return values;
	};

	return (record) => {
		try {
			const values = valuesOf(record);

			return Boolean(run((name) => {
				const value = values.get(name);

				if (value === null)
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
	if (machines.some((machine) => machine.about.fields && Object.hasOwn(machine.about.fields, text)))
		return (record) => record.name === text;
	if (quoted || (!filtered && !/==| = |!=|<|>|~|&&|\|\|/.test(text))) {
		const part = (quoted ? quoted[1] : text).toLowerCase();

		return (record) => shownText(record).toLowerCase().includes(part);
	}
	const tree = new Parser(filtered ? filtered[2] : text).whole();
	const glob = filtered ? globOf(filtered[1]) : /^/, evaluators = new Map();
	let problem = null;

	for (const [machine, event] of machines.flatMap((each) => Object.keys(each.about.fields || {}).map((name) => [each, name])))
		if (glob.test(event))
			try {
				evaluators.set(`${machine.number} ${event}`, evaluatorOf(tree, event, machine.about));
			} catch (error) {
				if (filtered)
					throw error;
				if (!problem || (problem.missing && !error.missing))
					problem = error;
			}
	if (!evaluators.size)
		throw problem || new Error('no event has this name');
	return (record) => {
		const evaluator = evaluators.get(`${record.machine || 0} ${record.name}`);

		return evaluator ? evaluator(record) : false;
	};
}

function shownText(record) {
	return `${threadTitle(record.thread)} ${record.name} ${record.text}`;
}
