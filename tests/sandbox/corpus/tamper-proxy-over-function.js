// Proxy over function.
// expect: returned {"n": 1}
async function run(params) {
  const p = new Proxy(echo, { apply: (t, s, a) => Reflect.apply(t, s, a) });
  return await p({ n: 1 });
}
