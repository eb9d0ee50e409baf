// Thenable as output.
// expect: returned {"a": 5}
async function run(params) {
  return { then(resolve) { resolve({ a: 5 }); } };
}
