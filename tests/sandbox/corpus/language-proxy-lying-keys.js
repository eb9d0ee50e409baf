// Proxy lying keys.
// expect: returned {"x": "got x", "y": "got y"}
async function run(params) {
  return new Proxy({}, { ownKeys: () => ["x", "y"], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }), get: (_, k) => (typeof k === "string" && k.length === 1 ? "got " + k : undefined) });
}
