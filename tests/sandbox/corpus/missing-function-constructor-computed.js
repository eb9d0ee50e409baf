// No check can see the name; the constructor is missing all the same.
// expect: execution.missing
// says: does not exist here
async function run(params) {
  const c = "con" + "structor";
  return [][c][c]("return 1")();
}
