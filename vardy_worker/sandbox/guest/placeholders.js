// The result of a write, before it exists: something that can only be handed on.
//
// A property of it is another one, with a longer path. Whatever would need its value throws.
// A promise that resolves with it gives itself, since it has no `then`.

/** Placeholder → `{effect, path}`. */
const placeholders = new WeakMapType();

const isPlaceholder = (value) => isObject(value) && weakHas(placeholders, value);

const valueNeeded = freeze({
  __proto__: null,
  toString: true,
  valueOf: true,
  toJSON: true,
  toLocaleString: true,
  hasOwnProperty: true,
  isPrototypeOf: true,
  propertyIsEnumerable: true,
});

// Calling one of these is a mistake that a plain "not a function" would not explain.
const methods = { __proto__: null };
for (const prototype of [ArrayPrototype, String.prototype, Number.prototype, Promise.prototype]) {
  for (const name of ownKeys(prototype)) {
    if (typeof name === "string" && typeof getOwnPropertyDescriptor(prototype, name).value === "function") {
      methods[name] = true;
    }
  }
}
delete methods.constructor;

function named(made) {
  return made.path === "" ? "This value" : "The property " + made.path + " of this value";
}

function refuse(target) {
  throw placeholderError(named(madeOf(target)));
}

const traps = freeze({
  __proto__: null,
  get(target, name) {
    const made = madeOf(target);
    if (typeof name === "symbol") {
      if (name === Symbol_isConcatSpreadable || name === Symbol_toStringTag) return undefined;
      throw placeholderError(named(made));
    }
    if (name === "then") return undefined;
    if (valueNeeded[name]) throw placeholderError(named(made));
    return newPlaceholder(made.effect, made.path + "/" + reference(wellFormed(name)), methods[name] === true);
  },
  apply: (target) => refuse(target),
  construct: (target) => refuse(target),
  set: (target) => refuse(target),
  has: (target) => refuse(target),
  deleteProperty: (target) => refuse(target),
  defineProperty: (target) => refuse(target),
  ownKeys: (target) => refuse(target),
  getOwnPropertyDescriptor: (target) => refuse(target),
  getPrototypeOf: (target) => refuse(target),
  setPrototypeOf: (target) => refuse(target),
  isExtensible: (target) => refuse(target),
  preventExtensions: (target) => refuse(target),
});

const Symbol_isConcatSpreadable = Symbol.isConcatSpreadable;
const Symbol_toStringTag = Symbol.toStringTag;

const madeOf = (target) => (typeof target === "function" ? target() : target.made);

function newPlaceholder(effect, path, callable) {
  const made = { __proto__: null, effect, path };
  const target = callable ? () => made : { __proto__: null, made };
  const placeholder = new ProxyType(target, traps);
  weakSet(placeholders, placeholder, made);
  return placeholder;
}
