// Structured clone kinds.
// expect: returned [true, "bad", {"k": [1]}, "/a/g", [1, 2], true]
async function run(params) {
  const c = structuredClone({ d: new Date(5), e: new TypeError("bad"), m: new Map([["k", [1]]]), r: /a/g, s: new Set([1, 2]) });
  const o = { n: 1 };
  o.self = o;
  const cc = structuredClone(o);
  return [c.d.getTime() === 5 && c.d instanceof Date, c.e.message, c.m, String(c.r), [...c.s], cc.self === cc];
}
