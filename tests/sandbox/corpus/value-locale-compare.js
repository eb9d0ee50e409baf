// Words sort as people expect.
// expect: returned ["10", "9", "a b", "apfel", "Apfel", "\u00c4pfel", "\u00e9clair", "Zebra"]
async function run(params) {
  return ["Zebra", "éclair", "Äpfel", "apfel", "10", "9", "a b", "Apfel"].sort((a, b) => a.localeCompare(b));
}
