// No source and no frame of the bridge can be had.
// expect: returned []
async function run(params) {
  const known = new Set(["echo", "rows", "run", "params"]);
  const seen = [];
  for (const f of [echo, console.log, structuredClone, Math.random, "".localeCompare, (1).toLocaleString]) {
    if (!String(f).includes("[native code]")) seen.push(String(f));
  }
  if (new Error().stack.split("\n").length > 2) seen.push(new Error().stack);
  if (Error.prepareStackTrace !== undefined || "stackTraceLimit" in Error) seen.push("stack hooks");
  for (const f of [echo, console.log]) for (const k of ["caller", "arguments"]) {
    try {
      if (f[k]) seen.push(k);
    } catch {}
  }
  return seen;
}
