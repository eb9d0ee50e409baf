// Error prepare stack.
// expect: returned ["undefined"]
async function run(params) {
  const got = [];
  Error.prepareStackTrace = (e, frames) => { got.push(typeof frames?.[0]?.getFunction); return frames; };
  Error.stackTraceLimit = 100;
  const o = {};
  Error.captureStackTrace(o);
  try { echo(1, 2); } catch {} got.push(typeof o.stack?.[0]?.getFunction);
  return [got[got.length - 1]];
}
