// Async iterator deadlock.
// expect: execution.deadlock
async function run(params) {
  for await (const x of { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }) return x;
}
