// Object prototype then resolves.
// expect: returned "stolen"
async function run(params) {
  Object.prototype.then = function (f) { delete Object.prototype.then; f("stolen"); };
  return await echo({ n: 1 });
}
