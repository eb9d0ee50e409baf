// A call whose arguments cannot be sent did not happen; the program may go on.
// expect: returned {"n": 2}
// args: [{"n": 2}]
async function run(params) {
  const circle = {};
  circle.self = circle;
  try {
    await echo(circle);
  } catch {
    return await echo({ n: 2 });
  }
}
