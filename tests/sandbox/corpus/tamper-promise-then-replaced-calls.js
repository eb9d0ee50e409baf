// Promise then replaced calls.
// expect: returned [{"n": 1}, {"n": 2}]
async function run(params) {
  Promise.prototype.then = function () { throw new Error("tampered"); };
  return [await echo({ n: 1 }), await echo({ n: 2 })];
}
