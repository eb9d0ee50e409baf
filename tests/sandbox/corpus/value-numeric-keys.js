// Numeric keys.
// expect: returned {"0": "a", "1": "b", "-1": "c", "1.5": "d", "4294967295": "e"}
async function run(params) {
  return { 0: "a", 1: "b", "-1": "c", 1.5: "d", 4294967295: "e" };
}
