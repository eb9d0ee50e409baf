// The judge is off for ai too, and no function of that name is there.
// expect: returned ["undefined", "undefined", false]
async function run(params) {
  return [typeof ai, typeof classify, "ai" in globalThis];
}
