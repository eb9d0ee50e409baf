// Where the engine is wrong in ways that programs meet.

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

// A helper of iterators (`map`, `filter`, …) ends what it draws from, which need have no `return`.
const helperPrototype = getPrototypeOf([].values().map((item) => item));
const endHelper = uncurry(helperPrototype.return);

hide(
  helperPrototype,
  "return",
  {
    return() {
      try {
        return endHelper(this);
      } catch (error) {
        if (peek(error, "message") !== "not a function") throw error;
        return { value: undefined, done: true };
      }
    },
  }.return,
);
