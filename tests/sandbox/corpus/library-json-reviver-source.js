// Json reviver source.
// expect: returned ["9007199254740993"]
async function run(params) {
  return [JSON.parse("9007199254740993", (k, v, c) => (typeof v === "number" && c?.source ? BigInt(c.source) : v))];
}
