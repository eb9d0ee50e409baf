// The same from the other end.
// expect: execution.timeout
async function run(params) {
  return [].lastIndexOf.call({ length: 2 ** 40 }, 1);
}
