// structuredClone copies data.
// expect: returned ["1970-01-01T00:00:00.000Z", [[1, {"x": 1}]], [1, null, 3], true, true]
async function run(params) {
  return (() => {
    const a = { d: new Date(0), m: new Map([[1, { x: 1 }]]), l: [1, , 3] };
    const b = structuredClone(a);
    return [b.d, b.m, b.l, b.m !== a.m, b.d !== a.d];
  })();
}
