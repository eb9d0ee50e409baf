// A result that would fit, but not beside what the program holds.
// expect: execution.memory
// limits: {"execute_seconds_max": 10}
async function run(params) {
  const keep = [];
  for (let i = 0; i < 40; i++) keep.push("x".repeat(1e6) + i);
  return (await text({ bytes: 30000000 })).length + keep.length;
}
