// Date valueof in clone.
// expect: returned "1970-01-01T00:00:00.000Z"
async function run(params) {
  Date.prototype.getTime = Date.prototype.valueOf = () => 5;
  return structuredClone(new Date(0));
}
