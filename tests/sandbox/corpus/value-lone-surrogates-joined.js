// Lone surrogates joined.
// expect: returned ["\ud83d\ude00", "\ufffd\ufffd"]
async function run(params) {
  return ["\ud83d" + "\ude00", "\ude00" + "\ud83d"];
}
