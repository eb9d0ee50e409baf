// Object changes while encoded.
// expect: returned {"a": 1}
async function run(params) {
  const o = { get a() { delete o.b; o.c = 3; return 1; }, b: 2 };
  return o;
}
