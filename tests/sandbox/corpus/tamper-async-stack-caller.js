// Async stack caller.
// expect: returned [true, true]
async function run(params) {
  "use strict";
  const out = [];
  for (const k of ["caller", "callee"]) { try { out.push((function () { "use strict"; return arguments[k] === undefined; })()); } catch { out.push(true); } } return out;
}
