// Nor while the source is loaded: only the engine itself is below it.
// expect: returned 2
const frames = new Error().stack.trim().split("\n").length;
async function run() {
  return frames;
}
