// Optional chaining.
// expect: returned [null, null, 1, "x"]
async function run(params) {
  const o = { f: null, g: () => 1 };
  let u;
  u ??= "x";
  return [o.q?.r.s.t, o.f?.(), o.g?.(), u];
}
