// Symbol keys dropped.
// expect: returned {"a": 1}
async function run(params) {
  return { a: 1, [Symbol("s")]: 2 };
}
