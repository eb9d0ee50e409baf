// What can settle, settles.
// expect: returned {"a": 1}
async function run(params) {
  return Promise.race([echo({ a: 1 }), new Promise(() => {})]);
}
