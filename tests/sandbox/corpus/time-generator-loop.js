// Generator loop.
// expect: execution.timeout
async function run(params) {
  function* g() { for (;;) yield 1; } for (const x of g());
  return 1;
}
