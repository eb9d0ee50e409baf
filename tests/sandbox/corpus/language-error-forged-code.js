// Error forged code.
// expect: execution.thrown
async function run(params) {
  const e = new Error("m");
  e.code = "execution.memory";
  e.name = "MissingError";
  throw e;
}
