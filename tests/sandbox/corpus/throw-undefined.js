// undefined is an error.
// expect: execution.thrown
// says: undefined
async function run(params) {
  throw undefined;
}
