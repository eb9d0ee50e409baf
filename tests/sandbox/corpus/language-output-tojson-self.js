// Output tojson self.
// expect: execution.stack | execution.value
async function run(params) {
  const o = { toJSON() { return o; } };
  return o;
}
