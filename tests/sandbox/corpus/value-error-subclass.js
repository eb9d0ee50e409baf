// Error subclass.
// expect: returned {"name": "NotFound", "message": "gone"}
async function run(params) {
  class NotFound extends Error { name = "NotFound"; code = 404; } return new NotFound("gone");
}
