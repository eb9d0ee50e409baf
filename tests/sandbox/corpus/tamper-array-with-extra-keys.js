// Array with extra keys.
// expect: returned [1]
async function run(params) {
  const a = [1];
  a.extra = 2;
  a.toJSON = () => "x";
  return a;
}
