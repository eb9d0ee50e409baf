// The line of an error after an await.
// expect: execution.thrown
// at: 7:13
async function run(params) {
  await echo({});
  
  throw new RangeError("late");
}
