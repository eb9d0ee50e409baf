// Locale compare kana.
// expect: execution.missing
// says: か
async function run(params) {
  return ["か", "あ"].sort((a, b) => a.localeCompare(b));
}
