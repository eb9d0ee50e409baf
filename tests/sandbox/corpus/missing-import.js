// There are no modules to import.
// expect: execution.thrown
async function run(params) {
  const fs = await import("qjs:std");
  return typeof fs;
}
