// Reflect construct loop.
// expect: execution.timeout
async function run(params) {
  return Reflect.construct(Promise, [() => { for (;;); }]);
}
