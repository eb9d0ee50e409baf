// Big int as key.
// expect: returned {"9223372036854775807": 1}
async function run(params) {
  const { id } = await big({});
  return { [id]: 1 };
}
