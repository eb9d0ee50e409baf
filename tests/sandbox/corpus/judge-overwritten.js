// A program may only fool itself.
// judge: true
// expect: returned "mine"
// ran: 0
async function run(params) {
  globalThis.classify = () => "mine";
  return classify(["x"], ["a", "b"]);
}
