// Nested thenable in output.
// expect: returned {"x": {"a": 1}}
// warns: function
async function run(params) {
  return { x: { a: 1, then() {} } };
}
