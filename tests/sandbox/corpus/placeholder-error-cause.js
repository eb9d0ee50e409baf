// Error cause.
// expect: execution.thrown
// says: outer
async function run(params) {
  throw new Error("outer", { cause: await save({}) });
}
