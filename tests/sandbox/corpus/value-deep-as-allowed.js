// A value may have 128 levels, and no more.
// expect: returned [128, "allowed"]
async function run(params) {
  let value = [];
  for (let level = 1; level < 128; level++) value = [value];
  const back = await echo(value);
  let levels = 0;
  for (let inner = back; inner; inner = inner[0]) levels++;
  return [levels, "allowed"];
}
