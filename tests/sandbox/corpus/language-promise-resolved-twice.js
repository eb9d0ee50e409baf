// Promise resolved twice.
// expect: returned [1, "ok"]
async function run(params) {
  const p = new Promise((res, rej) => { res(1); res(2); rej(new Error("late")); throw new Error("later"); });
  const q = new Promise((res) => res({ then(f, r) { f("ok"); f("no"); r(new Error("no")); throw 1; } }));
  return [await p, await q];
}
