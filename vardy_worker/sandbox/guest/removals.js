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

for (const [prototype, owner] of [
  [Object.prototype, "Object"],
  [Array.prototype, "Array"],
  [Number.prototype, "Number"],
  [BigInt.prototype, "BigInt"],
  [TypedArrayPrototype, "TypedArray"],
]) {
  missingMethod(prototype, "toLocaleString", owner, PLAIN);
}
for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) {
  missingMethod(Date.prototype, name, "Date", DATES);
}

// Languages whose letters have other partners, or lose their accents.
const caseless = new RegExpType("^(tr|az|lt|el|hy)\\b", "i");

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

// Math.random: sfc32, seeded by the job.
const random = { __proto__: null, a: 0, b: 0, c: 0, d: 1 };

function seedRandom(text) {
  let hash = 0x811c9dc5;
  const next = () => {
    hash ^= hash >>> 16;
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

hide(globalThis, "console", {});
for (const name of objectKeys(consoleMethods)) hide(globalThis.console, name, consoleMethods[name]);
