// Array species.
// expect: returned [1, 2]
async function run(params) {
  class Evil extends Array { constructor() { super(); throw new Error("species"); } } Object.defineProperty(Array, Symbol.species, { get: () => Evil });
  return [1, 2];
}
