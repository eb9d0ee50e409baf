// Json round trip.
// expect: returned [{"a": [1, null, "x"]}, "{\"b\":1}", "[\n  1\n]", {"d": "1970-01-01T00:00:00.000Z"}]
async function run(params) {
  return [JSON.parse('{"a":[1,null,"x"]}'), JSON.stringify({ a: undefined, b: 1, c() {} }), JSON.stringify([1], null, 2), JSON.parse(JSON.stringify({ d: new Date(0) }))];
}
