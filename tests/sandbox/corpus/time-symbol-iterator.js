// An iterator that never yields.
// expect: execution.timeout
async function run(params) {
  return [...{ *[Symbol.iterator]() { for (;;); } }];
}
