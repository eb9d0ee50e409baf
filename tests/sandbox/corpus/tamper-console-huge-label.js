// Console huge label.
// expect: returned 1
async function run(params) {
  for (let i = 0; i < 1000; i++) console.count("é".repeat(1e4));
  console.group("\ud800");
  console.log("\u0000\u001b[31m\u202e");
  return 1;
}
