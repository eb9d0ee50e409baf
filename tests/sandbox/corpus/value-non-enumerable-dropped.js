// Non enumerable dropped.
// expect: returned {"a": 1}
async function run(params) {
  return Object.defineProperty({ a: 1 }, "b", { value: 2 });
}
