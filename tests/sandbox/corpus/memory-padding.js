// Padding to half a gigabyte.
// expect: execution.memory
async function run(params) {
  return "x".padStart(2 ** 29, "ab").length;
}
