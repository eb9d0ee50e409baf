// Function through reflect.
// expect: execution.missing
async function run(params) {
  return Reflect.construct(Object.getPrototypeOf(() => 1).constructor, ["return 1"])();
}
