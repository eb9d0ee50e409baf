// String from char code many.
// expect: execution.stack | execution.memory | execution.thrown
async function run(params) {
  return String.fromCharCode(...Array(1e6).fill(65)).length;
}
