// What the prelude needs of the language, captured before any program runs.
//
// A program may change every prototype and global. So nothing below may look anything up on
// them later: no method call on a value, no for-of, no spread, no destructuring of arrays, no
// property read that could fall through to a prototype. Methods are called through `uncurry`,
// lists and records have no prototype, and property descriptors neither.

const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const bind = uncurry(Function.prototype.bind);

const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const { setPrototypeOf } = Object;
const { isArray } = Array;
const objectKeys = Object.keys;
const freeze = Object.freeze;
const stringify = JSON.stringify;
const globalEval = eval;

const ErrorType = Error;
const TypeErrorType = TypeError;
const RangeErrorType = RangeError;
const PromiseType = Promise;
const ProxyType = Proxy;
const StringType = String;
const BigIntType = BigInt;
const Uint8ArrayType = Uint8Array;
const RegExpType = RegExp;
const DateType = Date;
const MapType = Map;
const SetType = Set;

const ObjectPrototype = Object.prototype;
const ArrayPrototype = Array.prototype;
const PromisePrototype = Promise.prototype;
const ErrorPrototype = Error.prototype;
const TypedArrayPrototype = getPrototypeOf(Uint8Array.prototype);

const getterOf = (object, name) => uncurry(getOwnPropertyDescriptor(object, name).get);

const indexOf = uncurry(String.prototype.indexOf);
const lastIndexOf = uncurry(String.prototype.lastIndexOf);
const slice = uncurry(String.prototype.slice);
const charCode = uncurry(String.prototype.charCodeAt);
const wellFormed = uncurry(String.prototype.toWellFormed);
const normalize = uncurry(String.prototype.normalize);
const lowerCase = uncurry(String.prototype.toLowerCase);
const upperCase = uncurry(String.prototype.toUpperCase);
const replaceAll = uncurry(String.prototype.replaceAll);
const dateTime = uncurry(Date.prototype.getTime);
const dateText = uncurry(Date.prototype.toISOString);
const mapSize = getterOf(Map.prototype, "size");
const mapEach = uncurry(Map.prototype.forEach);
const mapSet = uncurry(Map.prototype.set);
const setSize = getterOf(Set.prototype, "size");
const setEach = uncurry(Set.prototype.forEach);
const setAdd = uncurry(Set.prototype.add);
const regexText = uncurry(RegExp.prototype.toString);
const regexSource = getterOf(RegExp.prototype, "source");
const regexExec = uncurry(RegExp.prototype.exec);
const numberValue = uncurry(Number.prototype.valueOf);
const stringValue = uncurry(String.prototype.valueOf);
const booleanValue = uncurry(Boolean.prototype.valueOf);
const bigintValue = uncurry(BigInt.prototype.valueOf);
const typedArrayLength = getterOf(TypedArrayPrototype, "length");
const promiseThen = uncurry(Promise.prototype.then);
const objectTag = uncurry(Object.prototype.toString);

const WeakMapType = WeakMap;
const weakGet = uncurry(WeakMap.prototype.get);
const weakSet = uncurry(WeakMap.prototype.set);
const weakHas = uncurry(WeakMap.prototype.has);

/** An array without prototype: `list[list.length] = item` can meet no setter. */
function newList() {
  return setPrototypeOf([], null);
}

/** A hidden data property, as built-in objects have them. */
function hide(object, name, value) {
  defineProperty(object, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
}

/** Whether a brand-checking method accepts the value. */
function accepts(method, value) {
  try {
    method(value);
    return true;
  } catch {
    return false;
  }
}

const reference = (text) => replaceAll(replaceAll(text, "~", "~0"), "/", "~1");

/** The JSON Pointer of a list of keys. */
function pointer(keys) {
  let text = "";
  for (let i = 0; i < keys.length; i++) text += "/" + reference(StringType(keys[i]));
  return text;
}
