// Argument mutated after call.
// expect: returned {"n": 1}
// args: [{"n": 1}]
async function run(params) {
  const o = { n: 1 };
  const p = echo(o);
  o.n = 2;
  return await p;
}
