// Capture stack trace frames.
// expect: returned false
async function run(params) {
  const o = {};
  Error.captureStackTrace(o);
  return /collect|follow|settle|bridge/.test(String(o.stack));
}
