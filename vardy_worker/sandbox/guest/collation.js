// localeCompare: the root order of Unicode's collation for Latin, Greek, Cyrillic, Han and Hangul
// text, with `numeric`, `sensitivity`, `caseFirst` and `ignorePunctuation`. Letters come before
// accents before case; spaces and signs before digits before letters. Languages and letters whose
// order this is not are refused: a wrong order would be silent.

/** Languages that order as the root does; true for those with an `ñ` after `n`. */
const ordered = {
  __proto__: null,
  und: false,
  ca: false,
  de: false,
  en: false,
  fr: false,
  ga: false,
  id: false,
  it: false,
  lb: false,
  ms: false,
  nl: false,
  pt: false,
  sw: false,
  es: true,
  gl: true,
};

const PUNCTUATION =
  "\t\n\v\f\r \u00a0\u202f\u2009_-\u2010\u2011\u2012\u2013\u2014\u2015,;:!¡?¿.·'‘’‚‹›\"“”„«»()[]{}§¶@*/\\&#%‰†‡•′″";
const SIGNS = "`´^¯¨¸°©®←→↑↓+±÷×<=>¬|¦~−⁄√∞≈≤≥";
const CURRENCIES = "¤¢$£¥₩€₹₺₽₿";
const LATIN = "abcdefghiıjklmnŋopqĸrstŧuvwxyzþ";
const GREEK = "αβγδεζηθικλμνξοπρστυφχψω";
const CYRILLIC = "абвгдђеєжзѕиійјклљмнњопрстћуфхцчџшщъыьэюя";

/** Letters that are others with a mark, or two others: `+` is a mark of their own, `/` and `-` are strokes. */
const composed = {
  __proto__: null,
  æ: "a+e",
  œ: "o+e",
  ß: "s+s",
  ĳ: "ij",
  ø: "o/",
  đ: "d-",
  ð: "d+",
  ħ: "h-",
  ł: "l-",
  ŀ: "l+",
  ſ: "s+",
  ª: "a+",
  º: "o+",
  ς: "σ+",
  "…": "...",
  ґ: "г+",
};
const OWN_MARK = 0x111;

/** How heavy marks are from U+0300 on; those of one weight are never met on one letter. */
const MARKS =
  "\x25\x24\x27\x2d\x32\x3a\x26\x2e\x2b\x3b\x29\x2c\x28\x33\x33\x3c\x3d\x3e\x33\x22\x23\x33\x34\x34\x34\x34\x33\x3f" +
  "\x34\x34\x34\x34\x34\x40\x41\x42\x43\x44\x45\x30\x31\x34\x34\x34\x34\x46\x47\x34\x48\x49\x21\x34\x4a\x39\x35\x35" +
  "\x2f\x4b";
const PLAIN_MARK = 0x20;

const DIGITS_FROM = 0x10000000;
const LETTERS_FROM = 0x20000000;
/** So many characters of text have their keys kept, since sorting meets each text many times. */
const KEPT_MAX = 100000;

/** Character → its place among others. */
const places = { __proto__: null };

function order(characters, from, step) {
  for (let i = 0; i < characters.length; i++) places[characters[i]] = from + i * step;
}

order(PUNCTUATION, 1, 1);
order(SIGNS, 0x100, 1);
// Other signs, emoji among them, follow by their codes.
order(CURRENCIES, 0x0f000000, 1);
order("0123456789", DIGITS_FROM, 1);
order(LATIN, LETTERS_FROM, 2);
order(GREEK, LETTERS_FROM + 0x1000, 1);
order(CYRILLIC, LETTERS_FROM + 0x2000, 1);
const N_TILDE = places.n + 1;

const letterOrNumber = new RegExpType("^[\\p{L}\\p{N}\\p{M}]$", "u");
const punctuation = new RegExpType("^[\\p{P}\\p{Z}]$", "u");
const ignorable = new RegExpType("^[\\p{Cc}\\p{Cf}\\ufe00-\\ufe0f]$", "u");

function notOrdered(what) {
  return missingError("`localeCompare` " + what, "compare with < and >, or by a key or list of your own");
}

/** How two texts compare, as `localeCompare` would have it. */
function compared(self, other, locales, options) {
  const given = isObject(options) && !isPlaceholder(options) ? options : { __proto__: null };
  const how = { __proto__: null, spanish: ordersSpanish(locales), numeric: given.numeric === true };
  how.skips = given.ignorePunctuation === true;
  const { sensitivity, caseFirst, collation } = given;
  if (sensitivity !== undefined && levelsOf[sensitivity] === undefined) {
    throw new RangeErrorType("localeCompare knows no sensitivity " + shown(sensitivity, 40));
  }
  if (collation !== undefined && collation !== "default") throw notOrdered("by the collation " + shown(collation, 40));
  const a = keyOf(self, how);
  const b = keyOf(other, how);
  const levels = levelsOf[sensitivity === undefined ? "variant" : sensitivity];
  let found = sequence(a.letters, b.letters);
  if (found === 0 && levels.accents) found = sequence(a.accents, b.accents);
  if (found === 0 && levels.cases) found = sequence(a.cases, b.cases) * (caseFirst === "upper" ? -1 : 1);
  return found;
}

const levelsOf = {
  __proto__: null,
  base: { __proto__: null, accents: false, cases: false },
  accent: { __proto__: null, accents: true, cases: false },
  case: { __proto__: null, accents: false, cases: true },
  variant: { __proto__: null, accents: true, cases: true },
};

function ordersSpanish(locales) {
  const wanted = isObject(locales) && !isPlaceholder(locales) ? locales[0] : locales;
  if (wanted === undefined) return false;
  const name = lowerCase(StringType(wanted));
  const end = indexOf(name, "-");
  const found = ordered[end < 0 ? name : slice(name, 0, end)];
  if (found === undefined || indexOf(name, "-u-") >= 0) throw notOrdered("for " + shown(wanted, 40));
  return found;
}

function sequence(a, b) {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
}

let keys = new MapType();
let kept = 0;

function keyOf(text, how) {
  const name = (how.spanish ? "s" : "") + (how.numeric ? "n" : "") + (how.skips ? "p" : "") + ":" + text;
  const known = mapGet(keys, name);
  if (known !== undefined) return known;
  kept += text.length + 10;
  if (kept > KEPT_MAX) {
    kept = 0;
    keys = new MapType();
  }
  const key = { __proto__: null, letters: newList(), accents: newList(), cases: newList(), digits: -1 };
  const parts = normalize(text, "NFD");
  for (let at = 0; at < parts.length; ) at = append(key, parts, at, how);
  mapSet(keys, name, key);
  return key;
}

/** Adds the character at a place to a key; gives the place of the next one. */
function append(key, text, at, how) {
  const code = charCode(text, at);
  const next = at + (code >= 0xd800 && code < 0xdc00 && at + 1 < text.length ? 2 : 1);
  const char = slice(text, at, next);
  if (code >= 0x300 && code < 0x300 + MARKS.length) {
    key.accents[key.accents.length] = charCode(MARKS, code - 0x300);
    return next;
  }
  const small = lowerCase(char);
  const big = small !== char;
  const place = placeOf(small, text, at, how);
  if (place === 0) return next;
  if (place === COMPOSED) {
    const parts = composed[small];
    for (let i = 0; i < parts.length; i++) appendPart(key, parts[i], big);
  } else if (how.numeric && place >= DIGITS_FROM && place < DIGITS_FROM + 10) {
    appendDigit(key, place);
  } else {
    key.digits = -1;
    appendLetter(key, place, big);
  }
  // A letter of two code units that together are one: й, and ñ where it is one.
  return place === places["й"] || place === N_TILDE ? next + 1 : next;
}

const COMPOSED = -1;

/** The place of a small letter or sign; 0 for what counts for nothing. */
function placeOf(small, text, at, how) {
  const following = charCode(text, at + 1);
  if (small === "и" && following === 0x306) return places["й"];
  if (small === "n" && following === 0x303 && how.spanish) return N_TILDE;
  const place = places[small];
  if (place !== undefined) return how.skips && place < PUNCTUATION.length + 1 ? 0 : place;
  if (composed[small] !== undefined) return how.skips && small === "…" ? 0 : COMPOSED;
  if (regexExec(ignorable, small) !== null) return 0;
  const code = charCode(small, 0);
  if (code >= 0x1100 && code < 0x1200) return LETTERS_FROM + 0x100000 + code;
  if (code >= 0x4e00 && code < 0xa000) return LETTERS_FROM + 0x200000 + code;
  if (small.length > 2 || regexExec(letterOrNumber, small) !== null) throw notOrdered("of texts with " + small);
  if (how.skips && regexExec(punctuation, small) !== null) return 0;
  return 0x1000 + code * 0x400 + (small.length > 1 ? charCode(small, 1) & 0x3ff : 0);
}

function appendPart(key, part, big) {
  if (part === "+") key.accents[key.accents.length] = OWN_MARK;
  else if (part === "/") key.accents[key.accents.length] = 0x2f;
  else if (part === "-") key.accents[key.accents.length] = 0x39;
  else appendLetter(key, places[part], big);
}

function appendLetter(key, place, big) {
  key.digits = -1;
  key.letters[key.letters.length] = place;
  key.accents[key.accents.length] = PLAIN_MARK;
  key.cases[key.cases.length] = big ? 1 : 0;
}

/** Numbers compare by how long they are, without leading zeros, and then by their digits. */
function appendDigit(key, place) {
  const zero = place === DIGITS_FROM;
  if (key.digits < 0) {
    key.digits = key.letters.length;
    key.letters[key.digits] = DIGITS_FROM;
    key.accents[key.accents.length] = PLAIN_MARK;
    key.cases[key.cases.length] = 0;
  }
  if (zero && key.letters[key.digits] === DIGITS_FROM) return;
  key.letters[key.digits] += 1;
  key.letters[key.letters.length] = place;
}

hide(
  String.prototype,
  "localeCompare",
  {
    localeCompare(that, locales, options) {
      return compared(StringType(this), StringType(that), locales, options);
    },
  }.localeCompare,
);
