// Eval gone everywhere.
// expect: returned ["undefined", "undefined", "undefined"]
async function run(params) {
  return [typeof globalThis.eval, typeof Reflect.get(globalThis, "eval"), typeof Object.getOwnPropertyDescriptor(globalThis, "eval")];
}
