// Promise all iterator.
// expect: execution.memory | execution.timeout
// limits: {"execute_seconds_max": 0.6}
async function run(params) {
  return await Promise.all({ *[Symbol.iterator]() { for (;;) yield 1; } });
}
