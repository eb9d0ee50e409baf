// Map changes while encoded.
// expect: returned {"a": {"x": 1}}
async function run(params) {
  const m = new Map();
  m.set("a", { get x() { m.clear(); return 1; } });
  return m;
}
