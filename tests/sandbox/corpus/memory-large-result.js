// A function that returns 80 MB: more than the guest can hold.
// expect: execution.memory
// limits: {"execute_seconds_max": 10}
async function run(params) {
  return (await text({ bytes: 80000000 })).length;
}
