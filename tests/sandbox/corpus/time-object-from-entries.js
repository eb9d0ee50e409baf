// Object from entries.
// expect: execution.timeout
async function run(params) {
  return Object.fromEntries({ *[Symbol.iterator]() { for (;;) yield ["a", 1]; } });
}
