// Error name is object.
// expect: execution.thrown
async function run(params) {
  const e = new Error("m");
  e.name = { toString() { for (;;); } };
  throw e;
}
