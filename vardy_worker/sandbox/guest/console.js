// console: captured into a buffer that the host reads even when the program is stopped.
//
// The buffer begins with the bytes used (32 bits, little-endian) and whether anything was cut
// (32 bits); records follow: level (one byte), length (32 bits), UTF-8 text. A line counts as
// LINE_BYTES more than its text. Nothing here can fail a program.

const LEVELS = { __proto__: null, log: 0, info: 1, warn: 2, error: 3, debug: 4 };
const HEADER_BYTES = 8;
const RECORD_BYTES = 5;
const LINE_BYTES = 16;
const SHOWN_DEPTH = 4;
const SHOWN_ITEMS = 100;

const consoleBytes = new Uint8ArrayType(consoleBuffer);
const consoleRoom = typedArrayLength(consoleBytes) - HEADER_BYTES;

const printed = { __proto__: null, used: 0, text: 0, max: 0, truncated: false, indent: "" };

function setU32(at, value) {
  consoleBytes[at] = value & 255;
  consoleBytes[at + 1] = (value >>> 8) & 255;
  consoleBytes[at + 2] = (value >>> 16) & 255;
  consoleBytes[at + 3] = value >>> 24;
}

function cut() {
  printed.truncated = true;
  setU32(4, 1);
}

function print(level, text) {
  if (printed.truncated) return;
  const from = HEADER_BYTES + printed.used + RECORD_BYTES;
  const end = from + min(printed.max - printed.text - LINE_BYTES, consoleRoom - printed.used - RECORD_BYTES);
  if (end < from) return cut();
  const to = putText(text, from, end);
  if (to < 0) cut();
  const size = (to < 0 ? -to : to) - from;
  if (size === 0 && to < 0) return;
  consoleBytes[from - RECORD_BYTES] = level;
  setU32(from - RECORD_BYTES + 1, size);
  printed.used += RECORD_BYTES + size;
  printed.text += LINE_BYTES + size;
  setU32(0, printed.used);
}

const min = (a, b) => (a < b ? a : b);

/** Writes UTF-8 from `at`, never beyond `end`; where it stopped, negative if the text did not fit. */
function putText(text, at, end) {
  text = wellFormed(text);
  for (let i = 0; i < text.length; i++) {
    let code = charCode(text, i);
    if (code >= 0xd800 && code < 0xdc00) code = 0x10000 + ((code - 0xd800) << 10) + (charCode(text, ++i) - 0xdc00);
    const size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (at + size > end) return -at;
    if (size === 1) {
      consoleBytes[at++] = code;
      continue;
    }
    consoleBytes[at++] = size === 2 ? 0xc0 | (code >> 6) : size === 3 ? 0xe0 | (code >> 12) : 0xf0 | (code >> 18);
    if (size > 3) consoleBytes[at++] = 0x80 | ((code >> 12) & 63);
    if (size > 2) consoleBytes[at++] = 0x80 | ((code >> 6) & 63);
    consoleBytes[at++] = 0x80 | (code & 63);
  }
  return at;
}

/** A value as text for people, of about `room` characters at most; runs no code but proxies'. */
function shown(value, room) {
  const view = { __proto__: null, left: room, above: newList() };
  return slice(wellFormed(shownPart(view, value, false)), 0, room);
}

function shownPart(view, value, quoted) {
  if (view.left <= 0) return "…";
  const text = isObject(value) ? shownObject(view, value) : shownPrimitive(value, quoted, view.left);
  view.left -= text.length;
  return text;
}

function shownPrimitive(value, quoted, room) {
  if (typeof value === "string") {
    const text = value.length > room ? slice(value, 0, room) + "…" : value;
    return quoted ? stringify(text) : text === "" ? '""' : text;
  }
  if (typeof value === "bigint") return StringType(value) + "n";
  return value === 0 && 1 / value < 0 ? "-0" : StringType(value);
}

function shownObject(view, value) {
  const made = weakGet(placeholders, value);
  if (made !== undefined) return "[result of write " + made.effect + made.path + ", which does not exist yet]";
  if (typeof value === "function") return "[function]";
  for (let i = 0; i < view.above.length; i++) if (view.above[i] === value) return "[cycle]";
  if (view.above.length >= SHOWN_DEPTH) return "…";
  view.above[view.above.length] = value;
  let text;
  try {
    text = shownContent(view, value);
  } catch {
    text = "[cannot be shown]";
  }
  view.above.length -= 1;
  return text;
}

function shownContent(view, value) {
  if (isArray(value)) return "[" + shownItems(view, value, value.length) + "]";
  if (accepts(dateTime, value)) return dateTime(value) === dateTime(value) ? dateText(value) : "Invalid Date";
  if (accepts(regexSource, value)) return regexText(value);
  if (isError(value)) {
    const text = peekText(value, "name") + ": " + peekText(value, "message");
    const at = place(peek(value, "stack"));
    return at[0] > 0 ? text + " (line " + at[0] + ")" : text;
  }
  if (accepts(mapSize, value)) return "Map " + shownFields(view, mapPairs(value));
  if (accepts(setSize, value)) {
    const items = newList();
    setEach(value, (item) => {
      items[items.length] = item;
    });
    return "Set [" + shownItems(view, items, items.length) + "]";
  }
  if (getPrototypeOf(value) === PromisePrototype) return "[promise]";
  const keys = objectKeys(value);
  const pairs = newList();
  for (let i = 0; i < keys.length && i <= SHOWN_ITEMS; i++) {
    const found = getOwnPropertyDescriptor(value, keys[i]);
    const pair = newList();
    pair[0] = keys[i];
    pair[1] = found === undefined || found.get !== undefined ? undefined : found.value;
    pair[2] = found !== undefined && found.get !== undefined;
    pairs[i] = pair;
  }
  return shownFields(view, pairs);
}

function mapPairs(map) {
  const pairs = newList();
  mapEach(map, (item, key) => {
    if (pairs.length > SHOWN_ITEMS) return;
    const pair = newList();
    pair[0] = key;
    pair[1] = item;
    pair[2] = false;
    pairs[pairs.length] = pair;
  });
  return pairs;
}

function shownItems(view, items, length) {
  let text = "";
  for (let i = 0; i < length; i++) {
    if (i >= SHOWN_ITEMS || view.left <= 0) return text + ", …";
    text += (i > 0 ? ", " : "") + shownPart(view, items[i], true);
  }
  return text;
}

function shownFields(view, pairs) {
  let text = "";
  for (let i = 0; i < pairs.length; i++) {
    if (i >= SHOWN_ITEMS || view.left <= 0) return "{" + text + ", …}";
    const pair = pairs[i];
    const key = typeof pair[0] === "string" ? pair[0] : shownPart(view, pair[0], true);
    text += (i > 0 ? ", " : "") + key + ": " + (pair[2] ? "[getter]" : shownPart(view, pair[1], true));
  }
  return "{" + text + "}";
}

function printArguments(level, values) {
  if (printed.truncated) return;
  let text = printed.indent;
  for (let i = 0; i < values.length; i++) {
    const room = printed.max - printed.text + 1 - text.length;
    if (room <= 0) break;
    text += (i > 0 ? " " : "") + (values[i] === "" ? "" : shown(values[i], room));
  }
  print(level, text);
}

const counts = new MapType();
const mapGet = uncurry(MapType.prototype.get);

const consoleMethods = {
  __proto__: null,
  log: (...values) => printArguments(LEVELS.log, values),
  info: (...values) => printArguments(LEVELS.info, values),
  warn: (...values) => printArguments(LEVELS.warn, values),
  error: (...values) => printArguments(LEVELS.error, values),
  debug: (...values) => printArguments(LEVELS.debug, values),
  trace: (...values) => printArguments(LEVELS.debug, values),
  dir: (...values) => printArguments(LEVELS.log, values),
  table: (...values) => printArguments(LEVELS.log, values),
  group(...values) {
    printArguments(LEVELS.log, values);
    printed.indent = slice(printed.indent + "  ", 0, 40);
  },
  groupEnd() {
    printed.indent = slice(printed.indent, 2);
  },
  assert(holds, ...values) {
    if (!holds) printArguments(LEVELS.error, values.length > 0 ? values : ["assertion failed"]);
  },
  count(label) {
    const name = label === undefined ? "default" : shown(label, 100);
    const count = (mapGet(counts, name) ?? 0) + 1;
    mapSet(counts, name, count);
    print(LEVELS.log, printed.indent + name + ": " + count);
  },
  time() {},
  timeLog() {},
  timeEnd() {},
};
consoleMethods.groupCollapsed = consoleMethods.group;
