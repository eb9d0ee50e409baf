// Half characters are replaced in the keys and values of arguments too.
// expect: returned {"k\ufffd": ["a\ufffdb", "\ufffd"]}
// args: [{"k\ufffd": ["a\ufffdb", "\ufffd"]}]
async function run(params) {
  return echo({ ["k\ud800"]: ["a\udfffb", "\ud83d"] });
}
