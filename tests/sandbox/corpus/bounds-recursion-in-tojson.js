// Recursion in tojson.
// expect: execution.stack
async function run(params) {
  const o = { toJSON() { return JSON.stringify(o); } };
  return JSON.stringify(o);
}
