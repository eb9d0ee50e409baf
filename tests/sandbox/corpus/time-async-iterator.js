// An asynchronous iterator that never yields.
// expect: execution.timeout
async function run(params) {
  for await (const x of { async *[Symbol.asyncIterator]() { for (;;) await 0; } }) return x;
}
