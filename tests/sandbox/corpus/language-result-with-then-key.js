// Result with then key.
// expect: returned {"then": 3}
async function run(params) {
  return await echo({ then: 3 });
}
