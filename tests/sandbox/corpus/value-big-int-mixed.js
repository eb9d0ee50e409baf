// Big int mixed.
// expect: execution.thrown
// says: BigInt
async function run(params) {
  const { id } = await big({});
  return id + 1;
}
