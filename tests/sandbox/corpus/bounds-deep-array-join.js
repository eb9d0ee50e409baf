// Deep array join.
// expect: execution.stack
async function run(params) {
  let a = [1];
  for (let i = 0; i < 5e4; i++) a = [a];
  return String(a).length;
}
