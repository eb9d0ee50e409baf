// A rejection handled later is none.
// expect: returned "x"
// warns: 
async function run(params) {
  const p = Promise.reject(new Error("x"));
  await echo({});
  return p.catch((e) => e.message);
}
