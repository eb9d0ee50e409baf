// A length that no array can have is a fault of the program, not a lack of memory.
// expect: execution.thrown
async function run(params) {
  return new Array(-1);
}
