// Values from the guest to the host: a clean tree that JSON.stringify cannot misread.
//
//   undefined            left out of an object, null in an array and at the top
//   NaN, ±Infinity       null, with a warning          -0            0
//   BigInt               decimal string                Date          ISO string; null when invalid
//   number from 2^53 to 1e21   decimal string, with a warning
//   Map                  object, or [key, value] pairs when a key is no string
//   Set, typed array     array                         RegExp        its text, with a warning
//   Error                {name, message}               boxed value   the value
//   function, Symbol     as undefined, with a warning  lone surrogate  U+FFFD
//   placeholder          as undefined, and a reference beside the tree
//   toJSON               called, as JSON.stringify would
//   cycle, Promise, Weak…, ArrayBuffer, DataView, generator   an error with the path
//   more than DEPTH_MAX levels   the stack limit

const DEPTH_MAX = 128;
const WARNINGS_MAX = 20;
/** Up to so many times its limit a value is encoded all the same, so that the host can say how large it is. */
const OVERSIZE = 4;
const SAFE_MAX = 9007199254740991;

const unsupported = {
  __proto__: null,
  "[object WeakMap]": "A WeakMap",
  "[object WeakSet]": "A WeakSet",
  "[object ArrayBuffer]": "An ArrayBuffer",
  "[object DataView]": "A DataView",
  "[object Generator]": "A generator",
  "[object AsyncGenerator]": "A generator",
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
  const walk = { __proto__: null, where, left: bytesMax * OVERSIZE, path: newList(), above: newList(), refs: newList() };
  const tree = cleaned(walk, value);
  const text = stringify(tree === undefined ? null : tree);
  return { __proto__: null, text, refs: walk.refs };
}

const at = (walk) => (walk.path.length === 0 ? walk.where : pointer(walk.path) + " of " + walk.where);

function cleaned(walk, value) {
  walk.left -= 1;
  if (walk.left < 0) throw endOf("too_large");
  switch (typeof value) {
    case "string":
      walk.left -= value.length + 1;
      if (walk.left < 0) throw endOf("too_large");
      return wellFormed(value);
    case "number":
      if (value - value !== 0) {
        warn(StringType(value) + " at " + at(walk) + " became null");
        return null;
      }
      if (value > SAFE_MAX || value < -SAFE_MAX) return cleanedLarge(walk, value);
      return value === 0 ? 0 : value;
    case "boolean":
    case "undefined":
      return value;
    case "bigint":
      return StringType(value);
    case "symbol":
      warn("The Symbol at " + at(walk) + " was left out");
      return undefined;
    default:
      return value === null ? null : cleanedObject(walk, value);
  }
}

function cleanedLarge(walk, value) {
  if (value >= 1e21 || value <= -1e21) return value;
  warn("The number at " + at(walk) + " is beyond 2^53 and may have lost digits: use a BigInt");
  return StringType(BigIntType(value));
}

function cleanedObject(walk, value) {
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
  const tree = isArray(value) ? cleanedArray(walk, value, value.length) : cleanedKeyed(walk, value);
  walk.above.length -= 1;
  return tree;
}

function cleanedItem(walk, key, item) {
  const depth = walk.path.length;
  walk.path[depth] = key;
  const tree = cleaned(walk, item);
  walk.path.length = depth;
  return tree;
}

function cleanedArray(walk, value, length) {
  const tree = newList();
  for (let i = 0; i < length; i++) {
    const item = cleanedItem(walk, i, value[i]);
    tree[i] = item === undefined ? null : item;
  }
  return tree;
}

function keep(walk, tree, key, item) {
  walk.left -= key.length + 2;
  const value = cleanedItem(walk, key, item);
  if (value !== undefined) tree[wellFormed(key)] = value;
}

function cleanedKeyed(walk, value) {
  const prototype = getPrototypeOf(value);
  if (prototype !== ObjectPrototype && prototype !== null) {
    const special = cleanedSpecial(walk, value, prototype);
    if (special !== NOT_SPECIAL) return special;
  }
  const toJSON = value.toJSON;
  if (typeof toJSON === "function" && !isPlaceholder(toJSON)) {
    return cleaned(walk, uncurry(toJSON)(value, walk.path.length === 0 ? "" : StringType(walk.path[walk.path.length - 1])));
  }
  const keys = objectKeys(value);
  const tree = { __proto__: null };
  for (let i = 0; i < keys.length; i++) keep(walk, tree, keys[i], value[keys[i]]);
  return tree;
}

const NOT_SPECIAL = {};

function cleanedSpecial(walk, value, prototype) {
  if (prototype === PromisePrototype) {
    throw valueError("There is a promise at " + at(walk) + ": await it, or several with Promise.all");
  }
  if (accepts(dateTime, value)) {
    const time = dateTime(value);
    if (time === time) return dateText(value);
    warn("The invalid Date at " + at(walk) + " became null");
    return null;
  }
  if (accepts(mapSize, value)) return cleanedMap(walk, value);
  if (accepts(setSize, value)) {
    const items = newList();
    setEach(value, (item) => {
      items[items.length] = item;
    });
    return cleanedArray(walk, items, items.length);
  }
  if (accepts(numberValue, value)) return cleaned(walk, numberValue(value));
  if (accepts(stringValue, value)) return cleaned(walk, stringValue(value));
  if (accepts(booleanValue, value)) return booleanValue(value);
  if (accepts(bigintValue, value)) return StringType(bigintValue(value));
  if (accepts(typedArrayLength, value)) return cleanedArray(walk, value, typedArrayLength(value));
  if (prototype === RegExpType.prototype && accepts(regexSource, value)) {
    warn("The RegExp at " + at(walk) + " became its text");
    return cleaned(walk, regexText(value));
  }
  if (isError(value) && typeof peek(value, "toJSON") !== "function") {
    const tree = { __proto__: null };
    keep(walk, tree, "name", peekText(value, "name"));
    keep(walk, tree, "message", peekText(value, "message"));
    return tree;
  }
  const tag = unsupported[objectTag(value)];
  if (tag !== undefined) throw valueError(tag + " at " + at(walk) + " cannot leave the program: return plain data");
  return NOT_SPECIAL;
}

function isError(value) {
  for (let i = 0; i < CAUSES_MAX && isObject(value); i++) {
    if (value === ErrorPrototype) return true;
    value = getPrototypeOf(value);
  }
  return false;
}

function cleanedMap(walk, value) {
  const keys = newList();
  const items = newList();
  let named = true;
  mapEach(value, (item, key) => {
    named = named && typeof key === "string";
    keys[keys.length] = key;
    items[items.length] = item;
  });
  if (named) {
    const tree = { __proto__: null };
    for (let i = 0; i < keys.length; i++) keep(walk, tree, keys[i], items[i]);
    return tree;
  }
  const pairs = newList();
  for (let i = 0; i < keys.length; i++) {
    const pair = newList();
    pair[0] = keys[i];
    pair[1] = items[i];
    pairs[i] = pair;
  }
  return cleanedArray(walk, pairs, pairs.length);
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
