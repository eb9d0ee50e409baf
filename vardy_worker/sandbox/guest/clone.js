// structuredClone for data. What it cannot copy it refuses, as the real one does.

const tagOfTypedArray = getterOf(TypedArrayPrototype, Symbol.toStringTag);
const bufferSlice = uncurry(ArrayBuffer.prototype.slice);
const bufferBytes = getterOf(ArrayBuffer.prototype, "byteLength");
const ArrayBufferType = ArrayBuffer;
const regexFlags = getterOf(RegExpType.prototype, "flags");
const typedArrays = { __proto__: null };
for (const name of ownKeys(globalThis)) {
  const made = typeof name === "string" ? globalThis[name] : undefined;
  if (typeof made === "function" && getPrototypeOf(made) === TypedArrayPrototype.constructor) typedArrays[name] = made;
}
const ObjectType = Object;

function notCloned(what) {
  const error = new TypeErrorType("structuredClone: " + what + " cannot be cloned");
  hide(error, "name", "DataCloneError");
  return error;
}

function cloned(value, seen) {
  if (typeof value === "symbol") throw notCloned("a Symbol");
  if (!isObject(value) || isPlaceholder(value)) return value;
  if (typeof value === "function") throw notCloned("a function");
  const known = mapGet(seen, value);
  if (known !== undefined) return known;
  const copy = emptyCopy(value);
  mapSet(seen, value, copy);
  if (accepts(mapSize, value)) mapEach(value, (item, key) => mapSet(copy, cloned(key, seen), cloned(item, seen)));
  else if (accepts(setSize, value)) setEach(value, (item) => setAdd(copy, cloned(item, seen)));
  else if (isArray(value) || isError(value) || getPrototypeOf(copy) === ObjectPrototype) copyFields(value, copy, seen);
  return copy;
}

/** A copy that lacks nothing but the values it holds. */
function emptyCopy(value) {
  if (isArray(value)) {
    const copy = [];
    copy.length = value.length;
    return copy;
  }
  if (accepts(dateTime, value)) return new DateType(dateTime(value));
  if (accepts(mapSize, value)) return new MapType();
  if (accepts(setSize, value)) return new SetType();
  const typed = tagOfTypedArray(value);
  if (typed !== undefined) return new typedArrays[typed](value);
  if (accepts(bufferBytes, value)) return bufferSlice(value, 0);
  if (accepts(numberValue, value)) return ObjectType(numberValue(value));
  if (accepts(stringValue, value)) return ObjectType(stringValue(value));
  if (accepts(booleanValue, value)) return ObjectType(booleanValue(value));
  if (accepts(bigintValue, value)) return ObjectType(bigintValue(value));
  if (isError(value)) {
    const copy = new ErrorType(peekText(value, "message"));
    hide(copy, "name", peekText(value, "name"));
    return copy;
  }
  const tag = unsupported[objectTag(value)];
  if (tag !== undefined) throw notCloned(tag);
  if (value !== RegExpType.prototype && accepts(regexSource, value)) {
    return new RegExpType(regexSource(value), regexFlags(value));
  }
  return {};
}

function copyFields(value, copy, seen) {
  const keys = objectKeys(value);
  for (let i = 0; i < keys.length; i++) {
    const item = cloned(value[keys[i]], seen);
    const data = { __proto__: null, value: item, writable: true, enumerable: true, configurable: true };
    defineProperty(copy, keys[i], data);
  }
}

hide(globalThis, "structuredClone", { structuredClone: (value) => cloned(value, new MapType()) }.structuredClone);
