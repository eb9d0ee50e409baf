// Finally value.
// expect: returned 1
async function run(params) {
  return Promise.resolve(1).finally(() => 2);
}
