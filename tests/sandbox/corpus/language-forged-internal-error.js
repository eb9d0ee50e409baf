// Forged internal error.
// expect: execution.memory | execution.thrown
async function run(params) {
  throw Object.assign(new Error("out of memory"), { name: "InternalError" });
}
