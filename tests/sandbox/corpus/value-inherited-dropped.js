// Inherited dropped.
// expect: returned {"own": 1}
async function run(params) {
  return Object.assign(Object.create({ inherited: 1 }), { own: 1 });
}
