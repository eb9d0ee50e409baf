// Any key may be data.
// expect: returned {"toString": 1, "hasOwnProperty": 2}
async function run(params) {
  return Object.assign(Object.create(null), { toString: 1, hasOwnProperty: 2 });
}
