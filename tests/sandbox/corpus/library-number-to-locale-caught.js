// Number to locale caught.
// expect: returned "fallback"
async function run(params) {
  let out;
  try { out = (1e6).toLocaleString("en-US"); } catch { out = "fallback"; } return out;
}
