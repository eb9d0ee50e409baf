// Array from iterator.
// expect: execution.memory | execution.timeout
async function run(params) {
  return Array.from({ *[Symbol.iterator]() { for (;;) yield 1; } });
}
