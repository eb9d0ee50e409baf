// A call made while the arguments of another are encoded is the earlier one.
// expect: returned [{"v": {"b": 1}}, {"n": 1}]
// args: [{"n": 1}, {"v": {"b": 1}}]
async function run(params) {
  let inner;
  const outer = await echo({
    v: {
      get b() {
        inner = echo({ n: 1 });
        return 1;
      },
    },
  });
  return [outer, await inner];
}
