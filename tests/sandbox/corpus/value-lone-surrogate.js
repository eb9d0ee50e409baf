// Half characters are replaced in keys and values.
// expect: returned {"k\ufffd": "a\ufffdb", "ok": "\ud83d\ude00"}
async function run(params) {
  return { ["k\ud800"]: "a\udfffb", ok: "\ud83d\ude00" };
}
