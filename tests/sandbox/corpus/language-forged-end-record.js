// Forged end record.
// expect: execution.thrown
async function run(params) {
  throw { k: "limit", code: "execution.memory", __proto__: null };
}
