// What programs must not find: code made at run time, threads, clocks, and answers that would be
// silently wrong without locale data. Methods of built-in objects fail loudly; globals that do
// not exist stay undefined (`missingGlobals`).

const Removed = (prototype) => {
  function Function() {
    throw missingError("`Function`", missingGlobals.Function);
  }
  defineProperty(Function, "prototype", { __proto__: null, value: prototype, writable: false });
  defineProperty(prototype, "constructor", {
    __proto__: null,
    value: Function,
    writable: false,
    enumerable: false,
    configurable: false,
  });
  return Function;
};

hide(globalThis, "Function", Removed(Function.prototype));
Removed(getPrototypeOf(async function () {}));
Removed(getPrototypeOf(function* () {}));
Removed(getPrototypeOf(async function* () {}));

for (const name of ["eval", "SharedArrayBuffer", "Atomics", "performance", "WeakRef", "FinalizationRegistry"]) {
  delete globalThis[name];
}
// They hand functions of the prelude to whoever inspects a stack, or hide the place of an error.
for (const name of ["prepareStackTrace", "stackTraceLimit"]) delete Error[name];

const PLAIN = "return the plain value, or build the text with toFixed, padStart and other string methods";
const DATES = "use toISOString, or getUTCFullYear and its siblings";

function missingMethod(prototype, name, owner, instead) {
  hide(
    prototype,
    name,
    {
      [name]() {
        throw missingError("`" + owner + "." + name + "`", instead);
      },
    }[name],
  );
}

for (const prototype of [Object.prototype, Array.prototype, Number.prototype, BigInt.prototype, TypedArrayPrototype]) {
  missingMethod(prototype, "toLocaleString", prototype === Number.prototype ? "Number" : "Object", PLAIN);
}
for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) {
  missingMethod(Date.prototype, name, "Date", DATES);
}

const caseless = new RegExpType("^(tr|az|lt)\\b", "i");

function localeCase(method, name) {
  return {
    [name](locale) {
      const wanted = isArray(locale) ? locale[0] : locale;
      if (typeof wanted === "string" && regexExec(caseless, wanted) !== null) {
        throw missingError("`String." + name + "` for " + wanted, "use toUpperCase or toLowerCase");
      }
      return method(this);
    },
  }[name];
}

hide(String.prototype, "toLocaleUpperCase", localeCase(upperCase, "toLocaleUpperCase"));
hide(String.prototype, "toLocaleLowerCase", localeCase(lowerCase, "toLocaleLowerCase"));

// localeCompare: letters before accents before case, as the root collation orders the alphabets of
// Europe; digits before letters, other signs before both. `numeric` and `sensitivity` are known.
const marks = new RegExpType("\\p{M}+", "gu");
const regexReplace = uncurry(RegExpType.prototype[Symbol.replace]);
const letter = new RegExpType("^\\p{L}", "u");
const digit = new RegExpType("^\\p{N}", "u");

function rank(char) {
  const code = charCode(char, 0);
  if ((code >= 97 && code <= 122) || (code > 127 && regexExec(letter, char) !== null)) return 2;
  return (code >= 48 && code <= 57) || (code > 127 && regexExec(digit, char) !== null) ? 1 : 0;
}

function compareBase(a, b, numeric) {
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const x = a[i];
    const y = b[j];
    const left = rank(x);
    const right = rank(y);
    if (numeric && left === 1 && right === 1) {
      const m = digits(a, i);
      const n = digits(b, j);
      if (m.length !== n.length) return m.length < n.length ? -1 : 1;
      if (m.text !== n.text) return m.text < n.text ? -1 : 1;
      i = m.next;
      j = n.next;
      continue;
    }
    if (x !== y) return left !== right ? (left < right ? -1 : 1) : x < y ? -1 : 1;
    i++;
    j++;
  }
  return a.length - i === b.length - j ? 0 : a.length - i < b.length - j ? -1 : 1;
}

function digits(text, from) {
  while (from < text.length - 1 && text[from] === "0" && rank(text[from + 1]) === 1) from++;
  let next = from;
  while (next < text.length && rank(text[next]) === 1) next++;
  return { __proto__: null, text: slice(text, from, next), length: next - from, next };
}

const sign = (a, b) => (a === b ? 0 : a < b ? -1 : 1);

function localeCompare(self, other, options) {
  const a = normalize(StringType(self), "NFD");
  const b = normalize(StringType(other), "NFD");
  const sensitivity = isObject(options) ? options.sensitivity : undefined;
  const plainA = regexReplace(marks, a, "");
  const plainB = regexReplace(marks, b, "");
  const base = compareBase(lowerCase(plainA), lowerCase(plainB), isObject(options) && options.numeric === true);
  if (base !== 0 || sensitivity === "base") return base;
  const accents = sensitivity === "case" ? 0 : sign(lowerCase(a), lowerCase(b));
  if (accents !== 0 || sensitivity === "accent") return accents;
  return sensitivity === "case" ? -sign(plainA, plainB) : -sign(a, b);
}

hide(
  String.prototype,
  "localeCompare",
  {
    localeCompare(that, _locales, options) {
      return localeCompare(this, that, options);
    },
  }.localeCompare,
);

// Math.random: sfc32, seeded by the job.
const random = { __proto__: null, a: 0, b: 0, c: 0, d: 1 };

function seedRandom(text) {
  let hash = 0x811c9dc5;
  const next = () => {
    hash = (hash ^ (hash >>> 16)) * 1;
    hash = imul(hash, 0x85ebca6b);
    hash = imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^= hash >>> 16) >>> 0;
  };
  for (let i = 0; i < text.length; i++) hash = imul(hash ^ charCode(text, i), 0x01000193);
  random.a = next();
  random.b = next();
  random.c = next();
  random.d = 1;
  for (let i = 0; i < 12; i++) random32();
}

const imul = Math.imul;

function random32() {
  const sum = (random.a + random.b + random.d) | 0;
  random.d = (random.d + 1) | 0;
  random.a = random.b ^ (random.b >>> 9);
  random.b = (random.c + (random.c << 3)) | 0;
  random.c = (random.c << 21) | (random.c >>> 11);
  random.c = (random.c + sum) | 0;
  return sum >>> 0;
}

hide(Math, "random", { random: () => ((random32() >>> 5) * 67108864 + (random32() >>> 6)) / 9007199254740992 }.random);

// The engine's own would end the guest when the callback throws; so it is a rejection that nobody handles.
hide(
  globalThis,
  "queueMicrotask",
  {
    queueMicrotask(callback) {
      if (typeof callback !== "function") throw new TypeErrorType("queueMicrotask takes a function");
      promiseThen(new PromiseType((done) => done()), () => callback());
    },
  }.queueMicrotask,
);

/** structuredClone for data: what the encoder knows, without its changes. */
function cloned(value, seen) {
  if (!isObject(value) || isPlaceholder(value)) return value;
  if (typeof value === "function") throw new TypeErrorType("structuredClone: a function cannot be cloned");
  const known = mapGet(seen, value);
  if (known !== undefined) return known;
  if (accepts(dateTime, value)) return new DateType(dateTime(value));
  if (accepts(regexSource, value)) return new RegExpType(regexSource(value), value.flags);
  let copy;
  if (accepts(mapSize, value)) {
    mapSet(seen, value, (copy = new MapType()));
    mapEach(value, (item, key) => mapSet(copy, cloned(key, seen), cloned(item, seen)));
  } else if (accepts(setSize, value)) {
    mapSet(seen, value, (copy = new SetType()));
    setEach(value, (item) => setAdd(copy, cloned(item, seen)));
  } else {
    copy = isArray(value) ? [] : isError(value) ? new ErrorType(peekText(value, "message")) : {};
    mapSet(seen, value, copy);
    if (isArray(value)) copy.length = value.length;
    if (isError(value)) hide(copy, "name", peekText(value, "name"));
    const keys = objectKeys(value);
    for (let i = 0; i < keys.length; i++) {
      const item = cloned(value[keys[i]], seen);
      const data = { __proto__: null, value: item, writable: true, enumerable: true, configurable: true };
      defineProperty(copy, keys[i], data);
    }
  }
  return copy;
}

hide(globalThis, "structuredClone", { structuredClone: (value) => cloned(value, new MapType()) }.structuredClone);
hide(globalThis, "console", {});
for (const name of objectKeys(consoleMethods)) hide(globalThis.console, name, consoleMethods[name]);
