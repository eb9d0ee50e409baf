// What is not given does not cross: the worker says what is missing.
// judge: true
// expect: returned null
// args: [{}, {"texts": ["x"]}, {"instruction": "i"}]
async function run(params) {
  await Promise.allSettled([ai(), classify(["x"])]);
  await ai("i").catch(() => {});
  return null;
}
