// Object prototype then.
// expect: execution.deadlock
async function run(params) {
  Object.prototype.then = function () {};
  return await echo({ n: 1 });
}
