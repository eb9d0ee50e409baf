// Nor does a broken species of promises.
// expect: returned {"a": 1}
async function run(params) {
  Promise.prototype.constructor = function (executor) {
    executor(() => {}, () => {});
  };
  return await echo({ a: 1 });
}
