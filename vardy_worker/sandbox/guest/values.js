// Values from the guest to the host, as JSON text that no prototype of the program can change.
//
//   undefined            left out of an object, null in an array and at the top
//   NaN, ±Infinity       null, with a warning          -0            0
//   BigInt               decimal string                Date          ISO string; null when invalid
//   number from 2^53 to 1e21   decimal string, with a warning
//   Map                  object, or [key, value] pairs when a key is no string
//   Set, typed array     array                         RegExp        its text, with a warning
//   Error                {name, message}               boxed value   the value
//   function, Symbol     as undefined, with a warning  lone surrogate  U+FFFD
//   placeholder          as undefined, and a reference beside the text
//   toJSON               called, as JSON.stringify would
//   cycle, Promise, Weak…, ArrayBuffer, DataView, generator   an error with the path
//   more than DEPTH_MAX levels   the stack limit

const DEPTH_MAX = 128;
const WARNINGS_MAX = 20;
/** Up to so many times its limit a value is encoded all the same, so that the host can say how large it is. */
const OVERSIZE = 2;
const SAFE_MAX = 9007199254740991;

const ITERATOR = "An iterator";
const unsupported = {
  __proto__: null,
  "[object Promise]": "A promise",
  "[object WeakMap]": "A WeakMap",
  "[object WeakSet]": "A WeakSet",
  "[object ArrayBuffer]": "An ArrayBuffer",
  "[object DataView]": "A DataView",
  "[object Generator]": "A generator",
  "[object AsyncGenerator]": "A generator",
  "[object Array Iterator]": ITERATOR,
  "[object Map Iterator]": ITERATOR,
  "[object Set Iterator]": ITERATOR,
  "[object String Iterator]": ITERATOR,
  "[object RegExp String Iterator]": ITERATOR,
  "[object Iterator Helper]": ITERATOR,
  "[object Iterator Wrap]": ITERATOR,
};

let warnings = newList();

function warn(text) {
  if (warnings.length < WARNINGS_MAX) warnings[warnings.length] = slice(wellFormed(text), 0, 300);
}

/** What ends the program when thrown by the encoder. */
function endOf(record) {
  const end = { __proto__: null };
  weakSet(ends, end, record);
  return end;
}

/**
 * Encodes a value for the host: `{text, refs}`. `where` names it in messages.
 *
 * Throws a ValueError, whatever the value's own getters throw, or an end (`ends`) when the
 * value is too deep or certainly longer than `bytesMax`; the host checks exactly.
 */
function encode(value, where, bytesMax) {
  const walk = { __proto__: null, where, left: bytesMax * OVERSIZE, path: newList(), above: newList() };
  walk.refs = newList();
  const text = encoded(walk, value);
  return { __proto__: null, text: text === undefined ? "null" : text, refs: walk.refs };
}

/** JSON of a record of the prelude's own. */
const recordText = (record) => encode(record, "", 1e12).text;

function spend(walk, count) {
  walk.left -= count;
  if (walk.left < 0) throw endOf("too_large");
}

const at = (walk) => (walk.path.length === 0 ? walk.where : pointer(walk.path) + " of " + walk.where);

/** The JSON text of a value; undefined for what is left out. */
function encoded(walk, value) {
  spend(walk, 2);
  switch (typeof value) {
    case "string":
      spend(walk, value.length);
      return stringify(wellFormed(value));
    case "number":
      return encodedNumber(walk, value);
    case "boolean":
      return value ? "true" : "false";
    case "undefined":
      return undefined;
    case "bigint":
      return '"' + StringType(value) + '"';
    case "symbol":
      warn("The Symbol at " + at(walk) + " was left out");
      return undefined;
    default:
      return value === null ? "null" : encodedObject(walk, value);
  }
}

function encodedNumber(walk, value) {
  if (value - value !== 0) {
    warn(StringType(value) + " at " + at(walk) + " became null");
    return "null";
  }
  if ((value > SAFE_MAX || value < -SAFE_MAX) && value < 1e21 && value > -1e21) {
    warn("The number at " + at(walk) + " is beyond 2^53 and may have lost digits: use a BigInt");
    return '"' + StringType(BigIntType(value)) + '"';
  }
  // Adding zero turns -0 into 0.
  return StringType(value + 0);
}

function encodedObject(walk, value) {
  const made = weakGet(placeholders, value);
  if (made !== undefined) {
    walk.refs[walk.refs.length] = { __proto__: null, at: pointer(walk.path), effect: made.effect, path: made.path };
    return undefined;
  }
  if (typeof value === "function") {
    warn("The function at " + at(walk) + " was left out");
    return undefined;
  }
  for (let i = 0; i < walk.above.length; i++) {
    if (walk.above[i] === value) {
      throw valueError("The value at " + at(walk) + " contains itself: return a copy without the cycle");
    }
  }
  if (walk.above.length >= DEPTH_MAX) throw endOf("too_deep");
  walk.above[walk.above.length] = value;
  const text = isArray(value) ? encodedArray(walk, value, value.length) : encodedKeyed(walk, value);
  walk.above.length -= 1;
  return text;
}

function encodedItem(walk, key, item) {
  const depth = walk.path.length;
  walk.path[depth] = key;
  const text = encoded(walk, item);
  walk.path.length = depth;
  return text;
}

function encodedArray(walk, value, length) {
  let text = "[";
  for (let i = 0; i < length; i++) {
    const item = encodedItem(walk, i, value[i]);
    text += (i > 0 ? "," : "") + (item === undefined ? "null" : item);
  }
  return text + "]";
}

/** `"key":item` with a comma where needed; empty for what is left out. */
function field(walk, first, key, item) {
  spend(walk, key.length);
  const text = encodedItem(walk, key, item);
  return text === undefined ? "" : (first ? "" : ",") + stringify(wellFormed(key)) + ":" + text;
}

function encodedKeyed(walk, value) {
  const prototype = getPrototypeOf(value);
  if (prototype !== ObjectPrototype && prototype !== null) {
    const special = encodedSpecial(walk, value, prototype);
    if (special !== NOT_SPECIAL) return special;
  }
  const toJSON = value.toJSON;
  if (typeof toJSON === "function" && !isPlaceholder(toJSON)) {
    const key = walk.path.length === 0 ? "" : StringType(walk.path[walk.path.length - 1]);
    return encoded(walk, uncurry(toJSON)(value, key));
  }
  const keys = objectKeys(value);
  let text = "{";
  for (let i = 0; i < keys.length; i++) text += field(walk, text === "{", keys[i], value[keys[i]]);
  return text + "}";
}

const NOT_SPECIAL = {};

function encodedSpecial(walk, value, prototype) {
  if (prototype === PromisePrototype) {
    throw valueError("There is a promise at " + at(walk) + ": await it, or several with Promise.all");
  }
  if (accepts(dateTime, value)) {
    const time = dateTime(value);
    if (time === time) return '"' + dateText(value) + '"';
    warn("The invalid Date at " + at(walk) + " became null");
    return "null";
  }
  if (accepts(mapSize, value)) return encodedMap(walk, value);
  if (accepts(setSize, value)) {
    const items = newList();
    setEach(value, (item) => {
      items[items.length] = item;
    });
    return encodedArray(walk, items, items.length);
  }
  if (accepts(numberValue, value)) return encoded(walk, numberValue(value));
  if (accepts(stringValue, value)) return encoded(walk, stringValue(value));
  if (accepts(booleanValue, value)) return encoded(walk, booleanValue(value));
  if (accepts(bigintValue, value)) return encoded(walk, bigintValue(value));
  if (accepts(typedArrayLength, value)) return encodedArray(walk, value, typedArrayLength(value));
  if (prototype === RegExpType.prototype && accepts(regexSource, value)) {
    warn("The RegExp at " + at(walk) + " became its text");
    return encoded(walk, regexText(value));
  }
  if (isError(value) && typeof peek(value, "toJSON") !== "function") {
    const name = field(walk, true, "name", peekText(value, "name"));
    return "{" + name + field(walk, false, "message", peekText(value, "message")) + "}";
  }
  const tag = unsupported[objectTag(value)];
  if (tag !== undefined) {
    const instead = tag === ITERATOR ? "make an array of it with Array.from" : "return plain data";
    throw valueError(tag + " at " + at(walk) + " cannot leave the program: " + instead);
  }
  return NOT_SPECIAL;
}

function isError(value) {
  for (let i = 0; i < CAUSES_MAX && isObject(value); i++) {
    if (value === ErrorPrototype) return true;
    value = getPrototypeOf(value);
  }
  return false;
}

function encodedMap(walk, value) {
  const keys = newList();
  const items = newList();
  let named = true;
  mapEach(value, (item, key) => {
    named = named && typeof key === "string";
    keys[keys.length] = key;
    items[items.length] = item;
  });
  if (named) {
    let text = "{";
    for (let i = 0; i < keys.length; i++) text += field(walk, text === "{", keys[i], items[i]);
    return text + "}";
  }
  const pairs = newList();
  for (let i = 0; i < keys.length; i++) {
    const pair = newList();
    pair[0] = keys[i];
    pair[1] = items[i];
    pairs[i] = pair;
  }
  return encodedArray(walk, pairs, pairs.length);
}

/** Puts BigInts where the host says: `[key, key, …, digits]` for each. */
function restoreBigInts(root, places) {
  for (let i = 0; i < places.length; i++) {
    const path = places[i];
    let holder = root;
    for (let j = 0; j < path.length - 2; j++) holder = holder[path[j]];
    defineProperty(holder, path[path.length - 2], {
      __proto__: null,
      value: BigIntType(path[path.length - 1]),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
}
