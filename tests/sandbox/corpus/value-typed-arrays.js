// Typed arrays.
// expect: returned [[1.5], [255, 0], ["-1", "9223372036854775807"], [0, null]]
// warns: NaN
async function run(params) {
  return [new Float32Array([1.5]), new Uint8Array([255, 256]), new BigInt64Array([-1n, 2n ** 63n - 1n]), new Float64Array([-0, NaN])];
}
