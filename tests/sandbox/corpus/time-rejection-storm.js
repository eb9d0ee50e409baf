// Endless handled rejections.
// expect: execution.timeout
async function run(params) {
  async function loop() {
    throw 1;
  }
  while (true) await loop().catch(() => {});
}
