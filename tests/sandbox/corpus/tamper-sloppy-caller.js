// Sloppy caller.
// expect: returned "none"
async function run(params) {
  return (function f() { try { return f.caller === null || f.caller === undefined ? "none" : typeof f.caller; } catch { return "none"; } })();
}
