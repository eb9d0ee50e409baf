// A cycle is an error with its path.
// expect: execution.value
// says: /list/0/a
async function run(params) {
  const a = { list: [] };
  a.list.push({ a });
  return a;
}
