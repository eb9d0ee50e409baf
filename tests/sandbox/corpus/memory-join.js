// Joining to a gigabyte.
// expect: execution.memory
async function run(params) {
  return Array(1e5).fill("x".repeat(1e4)).join("").length;
}
